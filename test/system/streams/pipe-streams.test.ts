import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { platform } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { relay } from '../../../src/container/ssh/relay';
import { openPipesOf, streamsOf } from '../../../src/system/streams/pipe-streams';
import { newFolder } from '../../support/temp-folder';

const { O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } = constants;

let folder: string;

beforeEach(() => (folder = newFolder()));

const describeOnLinux = platform() === 'linux' ? describe : describe.skip;

describeOnLinux('the streams of pipes', () => {
  test('end when told so, after what was written, though somebody holds the other ends', async () => {
    const path = join(folder, 'pipe');
    execFileSync('mkfifo', [path]);
    const output = openSync(path, O_RDONLY | O_NONBLOCK);
    const held = openSync(path, O_WRONLY);
    // Nobody reads it.
    const input = openSync(path, O_WRONLY | O_NONBLOCK);
    const streams = streamsOf({ input, output });
    writeSync(held, 'the first');
    expect(String(await once(streams.stdout, 'data'))).toBe('the first');
    const rest = text(streams.stdout);

    writeSync(held, 'the last');
    streams.end();
    writeSync(held, 'too late');

    expect(await rest).toBe('the last');
    closeSync(held);
  });

  test('end though somebody writes on without an end', async () => {
    const path = join(folder, 'pipe');
    execFileSync('mkfifo', [path]);
    const output = openSync(path, O_RDONLY | O_NONBLOCK);
    const writer = spawn('sh', ['-c', 'exec cat /dev/zero > "$0"', path], { stdio: 'ignore' });
    const streams = streamsOf({ input: openSync(path, O_WRONLY | O_NONBLOCK), output });
    await once(streams.stdout, 'readable');

    streams.end();

    expect((await buffer(streams.stdout)).length).toBeGreaterThan(0);
    await once(writer, 'exit');
  });

  test('have nothing to say of a command that reads no more', async () => {
    const path = join(folder, 'pipe');
    execFileSync('mkfifo', [path]);
    const output = openSync(path, O_RDONLY | O_NONBLOCK);
    const streams = streamsOf({ input: openSync(path, O_WRONLY | O_NONBLOCK), output });
    streams.stdout.destroy();
    await once(streams.stdout, 'close');

    const closed = new Promise((resolve) => streams.stdin.on('close', resolve));
    streams.stdin.write('anything');

    await closed;
    expect(streams.stdin.destroyed).toBe(true);
  });

  test('are let go of by who reads slowly: what was read is passed on, and the rest is for who has taken them', async () => {
    const [input, output] = ['in', 'out'].map((name) => join(folder, name)) as [string, string];
    execFileSync('mkfifo', [input, output]);
    // The command's ends.
    const [stdin, stdout] = [openSync(input, O_RDONLY | O_NONBLOCK), openSync(output, O_RDWR | O_NONBLOCK)];
    const pipes = streamsOf({
      input: openSync(input, O_WRONLY | O_NONBLOCK),
      output: openSync(output, O_RDONLY | O_NONBLOCK),
    });
    const lines = Array.from({ length: 10_000 }, (_, i) => `line ${i}\n`).join('');
    const [stderr, own] = [new PassThrough(), { stdin: new PassThrough(), stdout: new PassThrough() }];
    let take!: () => void;
    const taken = new Promise<void>((resolve) => (take = resolve));
    let released!: (bytes: number) => void;
    const passedOn = new Promise<number>((resolve) => (released = resolve));
    const command = { ...pipes, pipes, stderr, signal: () => undefined, resize: () => undefined };
    const status = relay(
      { ...command, exited: Promise.resolve({ status: 3 }), hasEnded: false },
      { ...own, stderr: new PassThrough() },
      { taken, released },
    );
    const writtenBytes = writeSync(stdout, lines.slice(0, 60_000));
    await once(own.stdout, 'readable');

    const takenPipes = openPipesOf(process.pid, pipes.descriptors)!;
    take();
    const passedOnBytes = await passedOn;
    writeSync(stdout, lines.slice(writtenBytes));
    const ours = streamsOf(takenPipes);
    ours.end();
    stderr.end();

    const passed = text(own.stdout);
    expect(await status).toBe(3);
    own.stdout.end();
    const first = await passed;
    expect(first).toHaveLength(passedOnBytes);
    expect(first + (await text(ours.stdout))).toBe(lines);
    for (const each of [stdin, stdout]) closeSync(each);
  });

  test('cannot be taken from who is gone, nor where they are something else', () => {
    const [file, other] = [openSync('/dev/null', O_RDWR), openSync('/dev/null', O_RDWR)];

    expect(openPipesOf(process.pid, { input: file, output: other })).toBeUndefined();
    expect(openPipesOf(process.pid, { input: 999_999, output: other })).toBeUndefined();
    expect(openPipesOf(2 ** 30, { input: file, output: other })).toBeUndefined();
    for (const each of [file, other]) closeSync(each);
  });
});
