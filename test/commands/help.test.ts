import { version } from '../../package.json';
import { catalog } from '../../src/agent/catalog';
import { commands } from '../../src/commands/commands';
import { runHere } from '../support/cli-here';

describe('cai --help', () => {
  test.each([[['--help']], [['-h']], [['help']], [[]], [['--acp', '--help']], [['acp', '-h']]])(
    'says on stdout what there is: cai %j',
    async (args) => {
      const { status, stdout, stderr } = await runHere(args);

      expect(status).toBe(0);
      expect(stderr).toBe('');
      for (const command of ['--acp', 'acp', ...Object.keys(commands), '--version', '--help']) {
        expect(stdout).toContain(`\n  cai ${command} `.trimEnd());
      }
      expect(stdout).toContain(
        `Agents: ${Object.keys(catalog).join(', ')}; default claude.\n  And all that "cai agents" lists`,
      );
    },
  );

  test.each(['exec', 'logs', 'trust'])('is for cai help %s the help of that command', async (name) => {
    const { status, stdout } = await runHere(['help', name]);

    expect(status).toBe(0);
    expect(stdout).toMatch(new RegExp(`^Usage: cai ${name} `));
  });

  test('is for no command that there is not', async () => {
    expect((await runHere(['help', 'nope'])).stderr).toBe('cai: "nope" is not a command: see "cai --help"\n');
  });
});

describe('cai --version', () => {
  test.each(['--version', '-V', '-v', 'version'])('writes the version: cai %s', async (command) => {
    expect(await runHere([command])).toEqual({ status: 0, stdout: `cai ${version}\n`, stderr: '' });
  });
});
