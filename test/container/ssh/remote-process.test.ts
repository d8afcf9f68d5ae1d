import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { Duplex, PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { OpenPipes } from '../../../src/system/streams/pipe-streams';
import { newFolder } from '../../support/temp-folder';
import { SshConnection } from '../../../src/container/ssh/ssh';
import { startProcess, type RemoteProcess } from '../../../src/container/ssh/remote-process';
import { startServer, type Played, type SshServer } from './ssh-server';

const { O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

let server: SshServer;
let connection: SshConnection;
let played: Promise<Played>;
const command = { argv: ['run'], cwd: '/', env: [] } as const;

/** Everything that is played is left to the test. */
beforeEach(async () => {
  played = new Promise((resolve) => (startsPlaying = resolve));
  server = await startServer((each) => startsPlaying(each));
  connection = await SshConnection.open(server.target);
});

let startsPlaying: (command: Played) => void;

afterEach(() => {
  connection.destroy();
  server.close();
});

/** A command whose supervisor has said this. */
async function running(said = '\0', isTerminal = false): Promise<[RemoteProcess, Played]> {
  const process = connection.run(command, isTerminal ? { columns: 80, rows: 24, term: 'xterm' } : undefined);
  const other = await played;
  other.channel.write(said);
  return [await process, other];
}

/** Resolves when the other side has seen everything that was requested before. */
async function untilSeen({ stdin }: RemoteProcess, { channel }: Played): Promise<void> {
  const seen = once(channel, 'data');
  stdin.write('.');
  await seen;
}

describe('a remote process', () => {
  test('starts when its supervisor is ready, and not before', async () => {
    let hasStarted = false;
    const process = connection.run(command).then((started) => {
      hasStarted = true;
      return started;
    });
    const { channel } = await played;
    expect(hasStarted).toBe(false);

    channel.write('\0first output');

    const { stdout } = await process;
    expect(String((await once(stdout, 'data'))[0])).toBe('first output');
  });

  test('has all the output of what is no supervisor, and its status', async () => {
    const process = connection.run(command);
    const { channel } = await played;

    channel.write('sh: not found');
    channel.exit(127);
    channel.end();

    const { stdout, exited } = await process;
    expect(String((await once(stdout, 'data'))[0])).toBe('sh: not found');
    expect(await exited).toEqual({ status: 127 });
  });

  test('passes all six signals on', async () => {
    const [process, other] = await running();

    for (const name of ['TERM', 'INT', 'HUP', 'QUIT', 'USR1', 'USR2'] as const) process.signal(name);
    await untilSeen(process, other);

    const names = other.requests.map((request) => (request as { signal: string }).signal);
    expect(names).toEqual(['TERM', 'INT', 'HUP', 'QUIT', 'USR1', 'USR2']);
  });

  test('has a terminal with a size, which can change', async () => {
    const [process, other] = await running('\0', true);

    process.resize(100, 30);
    await untilSeen(process, other);

    expect(other.requests).toEqual([{ pty: [80, 24] }, { size: [100, 30] }]);
  });

  test('takes signals and sizes after its stdin has ended', async () => {
    const [process, { channel }] = await running('\0', true);
    process.stdin.end();
    channel.resume();
    await once(channel, 'end');

    process.signal('TERM');
    process.resize(1, 2);
    // What came before it has been seen when it is answered.
    await connection.openTunnel(8080);

    // The server of ssh2 does not go by them any more, as sshd does.
    const received = server.log.filter((line) => /CHANNEL_REQUEST .*(signal|window-change)/.test(line));
    expect(received).toHaveLength(2);
  });

  test('has its supervisor signalled by a command where sshd does not do it', async () => {
    const [process] = await running('4711\0');
    const killing = new Promise<Played>((resolve) => (startsPlaying = resolve));

    process.signal('USR1');

    const { argv, channel } = await killing;
    expect(argv).toEqual(['/bin/sh', '-c', 'kill -s "$1" "$2"', 'sh', 'USR1', '4711']);
    channel.write('\0');
  });

  test('ignores what is sent to it when it is over', async () => {
    const [process, { channel }] = await running();
    channel.exit(0);
    channel.end();
    process.stdout.resume();
    expect(await process.exited).toEqual({ status: 0 });

    process.stdin.write('late');
    process.signal('TERM');
    process.resize(1, 1);

    // Whoever breaks the protocol is disconnected.
    await connection.openTunnel(8080);
  });

  test('fails if there is no status, though the connection goes on', async () => {
    const [process, { channel }] = await running();

    channel.end();

    await expect(process.exited).rejects.toMatchObject({ code: 'SSH_CONNECT' });
  });
});

test('a process has a status where sshd does not name the signal that has ended its supervisor', async () => {
  const channel = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  const parts = { stderr: new PassThrough(), outgoing: { id: 0 }, _client: { _protocol: {} } };
  Object.assign(channel, parts);
  const nothing = (): undefined => undefined;
  const starting = startProcess(channel as never, Promise.resolve(Buffer.from('x')), {
    lost: nothing,
    kill: nothing,
  });
  channel.push(Buffer.from([0]));
  const process = await starting;

  channel.emit('exit', null, 'SIGSIG@openssh.com');
  channel.emit('close');
  expect(await process.exited).toEqual({ status: 137 });
});

describe('a remote process that is to have pipes', () => {
  const asked: string[] = [];
  let openPipes: () => Promise<OpenPipes | undefined>;

  beforeEach(async () => {
    connection.destroy();
    const target = {
      ...server.target,
      openPipes: (name: string) => {
        asked.push(name);
        return openPipes();
      },
    };
    connection = await SshConnection.open(target);
  });

  /** The pipes that a command is given, of which the test has the other ends. */
  function given(): { readonly pipes: OpenPipes; readonly input: number; readonly output: number } {
    const folder = newFolder();
    const [input, output] = ['in', 'out'].map((name) => join(folder, name)) as [string, string];
    execFileSync('mkfifo', [input, output]);
    const read = openSync(input, O_RDONLY | O_NONBLOCK);
    const pipes = {
      input: openSync(input, O_WRONLY | O_NONBLOCK),
      output: openSync(output, O_RDONLY | O_NONBLOCK),
    };
    return { pipes, input: read, output: openSync(output, O_WRONLY) };
  }

  async function started(): Promise<{ process: RemoteProcess; channel: Played['channel']; answer: string }> {
    const starting = connection.run(command, 'pipes');
    const { channel } = await played;
    const answered = once(channel, 'data');
    channel.write('|\0');
    const [answer] = (await answered) as [Buffer];
    return { process: await starting, channel, answer: answer.toString() };
  }

  test('has them, and ends with its channel, though somebody holds them open', async () => {
    const { pipes, input, output } = given();
    openPipes = () => Promise.resolve(pipes);
    const { process, channel, answer } = await started();
    expect(answer).toBe('1');

    process.stdin.write('to it');
    await new Promise((resolve) => process.stdin.write('', resolve));
    const heard = Buffer.alloc(100);
    expect(heard.toString('utf8', 0, readSync(input, heard))).toBe('to it');
    writeSync(output, 'from it');
    channel.exit(3);
    channel.end();

    process.stderr.resume();
    expect(await text(process.stdout)).toBe('from it');
    expect(await process.exited).toEqual({ status: 3 });
    for (const each of [input, output]) closeSync(each);
  });

  test('ends with its connection', async () => {
    const { pipes, input, output } = given();
    openPipes = () => Promise.resolve(pipes);
    const { process } = await started();

    connection.destroy();

    process.stderr.resume();
    expect(await text(process.stdout)).toBe('');
    await expect(process.exited).rejects.toMatchObject({ code: 'SSH_CONNECT' });
    for (const each of [input, output]) closeSync(each);
  });

  test('has its channel, as it is, where its supervisor knows of no pipes', async () => {
    openPipes = () => Promise.reject(new Error('nobody asks for them'));
    const starting = connection.run(command, 'pipes');
    const { channel } = await played;
    channel.write('\0');
    const { stdin } = await starting;

    stdin.write('to it');

    expect(String((await once(channel, 'data'))[0])).toBe('to it');
  });

  test.each([
    ['there are none', () => Promise.resolve(undefined)],
    ['they cannot be opened', () => Promise.reject(new Error('EMFILE'))],
  ])('has its channel where %s', async (_, opening) => {
    openPipes = opening;
    const { process, channel, answer } = await started();
    expect(answer).toBe('0');

    channel.write('from it');

    expect(String((await once(process.stdout, 'data'))[0])).toBe('from it');
    expect(asked.every((name) => /^[0-9a-f-]{36}$/.test(name))).toBe(true);
  });
});
