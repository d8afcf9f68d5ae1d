import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { PassThrough, Readable, Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { relay } from '../../../src/container/ssh/relay';
import { CaiError } from '../../../src/errors';

/** A command that the test plays, joined to streams of which the test holds the other ends. */
function given(changes: { stdout?: Writable; stderr?: Writable } = {}) {
  const command = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  const own = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  let exit!: (status: number) => void;
  let fail!: (reason: Error) => void;
  const exited = new Promise<{ status: number }>((resolve, reject) => {
    exit = (status) => resolve({ status });
    fail = reject;
  });
  exited.catch(() => undefined);
  const ignore = () => undefined;
  const status = relay(
    { ...command, exited, signal: ignore, resize: ignore, hasEnded: false },
    { ...own, ...changes },
  );
  const end = () => [command.stdout, command.stderr].forEach((stream) => stream.end());
  return { command, own, status, end, exit, fail };
}

/** A stream whose reader has gone. */
function brokenPipe(): Writable {
  return new Writable({
    write: (_chunk, _encoding, done) => done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })),
  });
}

describe('relay', () => {
  test('passes every byte, both ways, and resolves with the status', async () => {
    const { command, own, status, end, exit } = given();
    const bytes = randomBytes(5_000_000);
    const received = [buffer(command.stdin), buffer(own.stdout), buffer(own.stderr)];

    Readable.from([bytes]).pipe(own.stdin);
    command.stdout.write(bytes);
    command.stderr.write('error');
    end();
    exit(7);

    expect(await status).toBe(7);
    [own.stdout, own.stderr].forEach((stream) => stream.end());
    const [stdin, stdout, stderr] = await Promise.all(received);
    expect(stdin!.equals(bytes)).toBe(true);
    expect(stdout?.equals(bytes)).toBe(true);
    expect(stderr?.toString()).toBe('error');
  });

  test('passes the end of stdin on, and the output that comes afterwards', async () => {
    const { command, own, status, end, exit } = given();

    own.stdin.end('in');
    expect((await buffer(command.stdin)).toString()).toBe('in');
    command.stdout.write('afterwards');
    expect(String((await once(own.stdout, 'data'))[0])).toBe('afterwards');

    end();
    exit(0);
    expect(await status).toBe(0);
  });

  test('resolves only when all output is written', async () => {
    const taken: (() => void)[] = [];
    const slow = new Writable({ write: (_chunk, _encoding, done) => taken.push(done) });
    const { command, status, end, exit } = given({ stdout: slow });
    let isOver = false;
    void status.then(() => (isOver = true));

    command.stdout.write('output');
    end();
    exit(0);
    while (taken.length === 0) await new Promise(setImmediate);
    await new Promise(setImmediate);
    expect(isOver).toBe(false);

    taken[0]!();
    while (taken.length === 1) await new Promise(setImmediate);
    taken[1]!();
    expect(await status).toBe(0);
  });

  test('reads no more than is taken from it', async () => {
    const stuck = new Writable({ write: () => undefined, highWaterMark: 1_000 });
    const { command, own } = given({ stdout: stuck });

    for (let i = 0; i < 100; i++) {
      command.stdout.write(Buffer.alloc(1_000));
      own.stdin.write(Buffer.alloc(10_000));
      await new Promise(setImmediate);
    }

    expect(stuck.writableLength).toBeLessThan(100_000);
    expect(command.stdin.writableLength + command.stdin.readableLength).toBeLessThan(200_000);
  });

  test('resolves with 141 as soon as nobody reads stdout, though the command runs on', async () => {
    const { command, status } = given({ stdout: brokenPipe() });

    command.stdout.write('output');

    expect(await status).toBe(141);
  });

  test('goes on when nobody reads stderr', async () => {
    const { command, own, status, end, exit } = given({ stderr: brokenPipe() });

    for (let i = 0; i < 100; i++) command.stderr.write(Buffer.alloc(10_000));
    command.stdout.write('output');
    end();
    exit(3);

    expect(await status).toBe(3);
    expect(String(own.stdout.read())).toBe('output');
  });

  test('rejects when the connection is lost, after what had arrived', async () => {
    const { command, own, status, end, fail } = given();

    command.stdout.write('last words');
    end();
    fail(new CaiError('SSH_CONNECT', 'lost'));

    await expect(status).rejects.toMatchObject({ code: 'SSH_CONNECT' });
    expect(String(own.stdout.read())).toBe('last words');
  });

  test('leaves stdin alone when it is over', async () => {
    const { command, own, status, end, exit } = given();
    own.stdin.write('before');
    await once(command.stdin, 'data');

    end();
    exit(0);
    await status;

    expect(own.stdin.isPaused()).toBe(true);
    expect(own.stdin.listenerCount('data')).toBe(0);
  });

  test('takes a terminal that is gone for the end of stdin', async () => {
    const { command, own } = given();

    own.stdin.destroy(Object.assign(new Error('read EIO'), { code: 'EIO' }));

    expect(await buffer(command.stdin)).toHaveLength(0);
  });
});
