import { catalog } from '../../../src/agent/catalog';
import { runCli, runInTerminal, userWith } from '../../support/cli';
import { runHere } from '../../support/cli-here';

const hello = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n';

describe('cai --acp', () => {
  test('is also called "cai acp"', async () => {
    const options = { ...userWith('[agents.gone]\ncommand = ["/no/such/agent"]'), input: hello };

    const results = await Promise.all([runCli(['--acp', 'gone'], options), runCli(['acp', 'gone'], options)]);

    const result = { protocolVersion: 1, agentCapabilities: {}, authMethods: [] };
    for (const { status, stdout } of results) {
      expect(stdout).toBe(`${JSON.stringify({ jsonrpc: '2.0', id: 1, result })}\n`);
      expect(status).toBe(0);
    }
  });

  test.each(['nobody', './mine', '/usr/bin/env', 'constructor', '__proto__', ''])(
    'does not start "%s", which is no agent',
    async (name) => {
      const options = userWith('[agents.mine]\ncommand = ["x"]');

      const { status, stdout, stderr } = await runHere(['--acp', name], options);

      expect(status).toBe(1);
      expect(stdout).toBe('');
      const [first, second] = stderr.split('\n');
      expect(first).toBe(`Unsupported agent: ${name}`);
      expect(second).toContain(
        `Known agents: ${Object.keys(catalog).join(', ')}, mine, and those that "cai agents" lists.`,
      );
    },
  );

  test.each([
    [
      'an unknown key',
      '[acp]\n\nidel = "1m"',
      '3:1',
      '"acp.idel" is not a known key: did you mean "acp.idle"?',
    ],
    ['a wrong value', '[acp]\nidle = 10', '2:1', '"acp.idle" must be a duration'],
    ['an agent without a command', '\n[agents.x]\nname = "X"', '2:9', '"agents.x" lacks "command"'],
    ['what is not TOML', '[acp\n', '1:5', ''],
  ])('ends before anything else for a config with %s', async (_, config, place, text) => {
    const options = userWith(config);

    const { status, stdout, stderr } = await runHere(['--acp', 'claude'], options);

    expect(status).toBe(2);
    expect(stdout).toBe('');
    expect(stderr.startsWith(`cai: ${options.file}:${place}: `)).toBe(true);
    expect(stderr).toContain(text);
  });

  test.each([[['--acp', 'claude', '--model', 'x']], [['acp']], [[]]])(
    'takes the token of a sign-in behind its arguments: cai %j',
    async (args) => {
      const { status, stdout, stderr } = await runHere(
        [...args, `--sign-in=${'0'.repeat(32)}`],
        userWith(''),
      );

      expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
      expect(stderr).toContain('this token is unknown');
    },
  );

  test.each([[['--acp']], [['--acp', 'claude']], [['acp', 'claude']]])(
    'in a terminal says that it is for editors: cai %j',
    async (args) => {
      const { status, stdout } = await runInTerminal(args, userWith(''));

      expect(status).toBe(2);
      expect(stdout).toBe(
        'cai: this is for an editor to start, not for a terminal: put it into the settings of your editor, as the README shows\r\n',
      );
    },
  );
});
