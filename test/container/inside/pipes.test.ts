/** The named pipes of a command: the supervisor makes them, the client's streams use them. */
import { execFileSync, spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { constants, cpSync, mkdirSync, openSync, readdirSync } from 'node:fs';
import { platform } from 'node:os';
import { join, resolve } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { streamsOf, type PipeStreams } from '../../../src/system/streams/pipe-streams';
import { encodeHeader } from '../../../src/container/ssh/remote-command';
import { newFolder } from '../../support/temp-folder';

const source = resolve(__dirname, '../../../src/container/inside');
const { O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

let folder: string;
const started: ChildProcessWithoutNullStreams[] = [];

beforeEach(() => {
  folder = newFolder();
  for (const name of ['supervisor', 'filter']) cpSync(join(source, name), join(folder, name));
  mkdirSync(join(folder, 'door'));
});
afterEach(() => started.splice(0).forEach((program) => program.kill('SIGKILL')));

/** A supervisor that is to run a script with pipes, once it is ready. */
function supervised(script: string, name: string = randomUUID()) {
  const program = spawn('perl', [join(folder, 'supervisor')]);
  started.push(program);
  program.stdin.on('error', () => undefined);
  const env = [['PATH', '/usr/bin:/bin']] as const;
  program.stdin.write(encodeHeader({ argv: ['sh', '-c', script], cwd: '/', env }, name));
  const said = once(program.stdout, 'data');
  return { program, said, pipe: (end: string) => join(folder, 'door', `${name}.${end}`) };
}

type Supervised = ReturnType<typeof supervised>;

/** Opens the pipes, and says so. */
async function joined({ program, said, pipe }: Supervised): Promise<PipeStreams> {
  expect(String(await said)).toMatch(/^[0-9]*\|\0$/);
  const streams = streamsOf({
    input: openSync(pipe('in'), O_WRONLY | O_NONBLOCK),
    output: openSync(pipe('out'), O_RDONLY | O_NONBLOCK),
  });
  program.stdin.write('1');
  return streams;
}

const describeOnLinux = platform() === 'linux' ? describe : describe.skip;

describeOnLinux('a command with pipes', () => {
  test('has every byte both ways, the end of stdin, and its own stderr and status', async () => {
    const command = supervised('cat; echo "$?" >&2; env | grep -c CAI_; exit 7');
    const { stdin, stdout } = await joined(command);
    const bytes = randomBytes(3_000_000);
    const ended = once(command.program, 'close') as Promise<[number]>;
    const all = Promise.all([buffer(stdout), text(command.program.stderr), ended]);

    stdin.end(bytes);

    const [said, errors, [status]] = await all;
    expect(said.subarray(0, bytes.length).equals(bytes)).toBe(true);
    expect(said.subarray(bytes.length).toString()).toBe('0\n');
    expect([errors, status]).toEqual(['0\n', 7]);
  });

  test('starts with pipes that nobody else can find any more, and whose ends nobody else holds', async () => {
    const command = supervised('exec 2>&1; ls -l /proc/$PPID/fd; echo is ready; read -r line; echo "$line"');
    const { stdin, stdout } = await joined(command);
    const ready = once(stdout, 'data');
    const all = text(stdout);
    await ready;

    expect(readdirSync(join(folder, 'door'))).toEqual([]);

    stdin.end('the line\n');
    expect(await all).toMatch(/is ready\nthe line\n$/);
  });

  test('waits for who does not read, as with any pipe', async () => {
    const command = supervised('head -c 10000000 /dev/zero; echo done >&2');
    const { stdout } = await joined(command);
    let isDone = false;
    command.program.stderr.on('data', () => (isDone = true));
    await once(stdout, 'readable');
    expect(isDone).toBe(false);

    expect((await buffer(stdout)).length).toBe(10_000_000);
    await once(command.program, 'close');
    expect(isDone).toBe(true);
  });

  test('has the streams of the connection where the client has not opened them', async () => {
    const command = supervised('cat');
    await command.said;
    const all = text(command.program.stdout);

    command.program.stdin.end('0what it reads');

    expect(await all).toBe('what it reads');
    expect(readdirSync(join(folder, 'door'))).toEqual([]);
  });

  test.each([
    ['somebody else has made one of them', randomUUID()],
    ['they would be elsewhere', '../f'],
  ])('has the streams of the connection, which is told, where %s', async (_, name) => {
    if (!name.includes('/')) execFileSync('mkfifo', [join(folder, 'door', `${name}.in`)]);
    const command = supervised('cat', name);
    expect(String(await command.said)).toMatch(/^[0-9]*\0$/);
    const all = text(command.program.stdout);

    command.program.stdin.end('what it reads');

    expect(await all).toBe('what it reads');
  });
});
