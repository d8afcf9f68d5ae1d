import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { compiled, run } from '../../support/program';

/** Runs its arguments interactively, and exits with the status that comes back, or says why it failed. */
const script = compiled(`
  import { runInteractive } from './src/commands/acp/agent-on-terminal';
  const command = process.argv.slice(2);
  runInteractive({ name: 'a', displayName: 'A', command, remedy: '' }, { ...process.env, CAI_SAMPLE: 'é' }).then(
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

  test.each([
    [['sh', '-c', 'exit 7'], 7],
    [['true'], 0],
    [['sh', '-c', 'kill -TERM $$'], 143],
    [['sh', '-c', 'kill -KILL $$'], 137],
  ])('resolves with the status of %j', async (command, status) => {
    expect(await played(command)).toEqual({ status, out: '', err: '' });
  });

  test.each([
    ['cai-is-no-program', 'ENOENT'],
    ['/etc/hostname/agent', 'ENOTDIR'],
  ])('rejects when the program cannot be started: %s', async (program, cause) => {
    const { status, out } = await played([program]);

    expect(status).toBe(99);
    expect(out).toMatch(/^AGENT_START: agent "a" could not be started: /);
    expect(out).toContain(cause);
  });
});

async function played(command: string[], input = ''): Promise<{ status: number; out: string; err: string }> {
  const program = run(script, command);
  program.stdin.end(input);
  const closed = once(program, 'close') as Promise<[number]>;
  const [out, err] = await Promise.all([text(program.stdout), text(program.stderr)]);
  return { status: (await closed)[0], out, err };
}
