import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { pathWithClosedFolder } from '../../support/ordinary-user';
import { compiled, run } from '../../support/program';

/** Runs its arguments interactively, and exits with the status that comes back, or says why it failed. */
const script = compiled(`
  import { runInteractive } from './src/commands/acp/agent-on-terminal';
  const command = process.argv.slice(2);
  if (process.env.CAI_ORDINARY === '1' && process.geteuid() === 0) process.seteuid(65534);
  runInteractive({ name: 'a', displayName: 'A', command, remedy: 'install it' }, { ...process.env, CAI_SAMPLE: 'é' }).then(
    (status) => process.exit(status),
    (error) => { console.log(error.code + ': ' + error.message); process.exit(99); },
  );
`);

describe('runInteractive', () => {
  test('gives the program the stdin, stdout and stderr that are there', async () => {
    expect(
      await played(['sh', '-c', 'read l; echo "out $l"; echo "err $CAI_SAMPLE" >&2'], 'typed\n'),
    ).toEqual({ status: 0, out: 'out typed\n', err: 'err é\n' });
  });

  test.each(['SIGINT', 'SIGQUIT'] as const)('waits for a program that takes %s itself', async (signal) => {
    const words = `trap : INT QUIT; kill -${signal.slice(3)} $PPID; echo "still here"; exit 5`;

    expect(await played(['sh', '-c', words])).toEqual({ status: 5, out: 'still here\n', err: '' });
  });

  test.each([
    [['sh', '-c', 'exit 7'], 7],
    [['true'], 0],
    [['sh', '-c', 'kill -TERM $$'], 143],
    [['sh', '-c', 'kill -KILL $$'], 137],
  ])('resolves with the status of %j', async (command, status) => {
    expect(await played(command)).toEqual({ status, out: '', err: '' });
  });

  test.each([
    ['cai-is-no-program', '"cai-is-no-program" was not found: install it'],
    ['/etc/hostname/agent', 'ENOTDIR'],
  ])('rejects when the program cannot be started: %s', async (program, cause) => {
    const { status, out } = await played([program]);

    expect(status).toBe(99);
    expect(out).toMatch(/^AGENT_START: agent "a" could not be started: /);
    expect(out).toContain(cause);
  });

  test('says that a program is not there, also if PATH names a folder that the user may not enter', async () => {
    const env = { ...process.env, PATH: pathWithClosedFolder(), CAI_ORDINARY: '1' };
    const { out } = await played(['cai-is-no-program'], '', env);

    expect(out).toContain('"cai-is-no-program" was not found: install it');
  });
});

async function played(
  command: string[],
  input = '',
  env = process.env,
): Promise<{ status: number; out: string; err: string }> {
  const program = run(script, command, env);
  program.stdin.end(input);
  const closed = once(program, 'close') as Promise<[number]>;
  const [out, err] = await Promise.all([text(program.stdout), text(program.stderr)]);
  return { status: (await closed)[0], out, err };
}
