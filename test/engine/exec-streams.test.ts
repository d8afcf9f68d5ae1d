import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Place, buildTimeoutMs } from './place';
import type { Running } from './running';

const manyBytes = 64 * 2 ** 20;
/** What Node itself takes is about 90 MiB; a process that keeps what it passes on comes far above this. */
const mostMemoryBytes = 250 * 2 ** 20;

let place: Place;

beforeAll(async () => (place = await new Place().opened()), buildTimeoutMs);

function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** The most memory that a process has had. */
function peakMemoryBytes({ pid }: Running): number {
  const [, kilobytes] = /^VmHWM:\s+([0-9]+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
}

/** The value once it no longer changes, though another command has run meanwhile. */
async function settled(value: () => number): Promise<number> {
  for (let before = -1; ; before = value()) {
    await place.prints(['true']);
    if (before > 0 && value() === before) return before;
  }
}

describe('the streams of a command', () => {
  test('carry 64 MiB of anything both ways at once', async () => {
    const bytes = randomBytes(manyBytes);

    const { status, stdout, stderr } = await place.run(['cat'], { input: bytes });

    expect({ status, stderr, hash: hashOf(stdout) }).toEqual({ status: 0, stderr: '', hash: hashOf(bytes) });
  });

  test('carry every byte, and stdout and stderr apart', async () => {
    const script = 'for (1 .. 64) { syswrite STDOUT, pack("C*", 0 .. 255); syswrite STDERR, "$_\n" } exit 3';

    const { status, stdout, stderr } = await place.run(['perl', '-e', script]);

    expect({ status, stderr }).toEqual({
      status: 3,
      stderr: Array.from({ length: 64 }, (_, index) => `${index + 1}\n`).join(''),
    });
    expect(stdout).toEqual(Buffer.concat(Array<Buffer>(64).fill(Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))))); // prettier-ignore
  });

  test('pass the end of stdin on without ending the command', async () => {
    const { status, stdout } = await place.run(['sh', '-c', 'cat; sleep 2; echo done'], { input: 'first ' });

    expect({ status, stdout: stdout.toString() }).toEqual({ status: 0, stdout: 'first done\n' });
  });

  test('pass on what is there before there is an end', async () => {
    const program = place.start(['cat']);

    program.child.stdin.write('one');
    await program.says('one');
    program.child.stdin.end(' two');

    expect((await program.succeeds()).stdout.toString()).toBe('one two');
  });
});

describe('a reader that is slow', () => {
  test('makes the command wait, not us keep what it says', async () => {
    const script =
      'for (1 .. 2 ** 14) { syswrite STDOUT, "x" x 2 ** 14; next if $_ > 2048; open F, ">", "written"; print F $_; close F }';
    const program = place.start(['perl', '-e', script]);
    program.child.stdout.pause();

    const pieces = await settled(() => writtenIn('written'));
    const memory = peakMemoryBytes(program);
    program.child.stdout.resume();
    const { stdout } = await program.succeeds();

    expect(pieces * 2 ** 14).toBeLessThan(manyBytes / 2);
    expect(memory).toBeLessThan(mostMemoryBytes);
    expect(stdout).toHaveLength(256 * 2 ** 20);
  });

  test('of stdin makes us wait, not keep what it is sent', async () => {
    const bytes = randomBytes(4 * manyBytes);
    await place.prints(['mkfifo', 'gate']);
    const program = place.start(['sh', '-c', 'echo ready; cat gate; sha256sum']);
    await program.says('ready');

    let accepted = 0;
    const step = 2 ** 14;
    const sent = (async () => {
      for (let at = 0; at < bytes.length; at += step) {
        if (!program.child.stdin.write(bytes.subarray(at, at + step)))
          await once(program.child.stdin, 'drain');
        accepted = at + step;
      }
      program.child.stdin.end();
    })();
    const taken = await settled(() => accepted);
    const memory = peakMemoryBytes(program);
    await place.prints(['sh', '-c', ': > gate']);
    await sent;

    expect((await program.succeeds()).stdout.toString()).toBe(`ready\n${hashOf(bytes)}  -\n`);
    expect(taken).toBeLessThan(manyBytes / 2);
    expect(memory).toBeLessThan(mostMemoryBytes);
  });
});

describe('a stream that nobody reads any more', () => {
  test('ends a command that writes to it', async () => {
    const program = place.start(['sh', '-c', 'echo $$ > pid; exec yes']);
    await program.says('y\ny\n');

    program.child.stdout.destroy();

    expect(await program.ends()).toMatchObject({ status: 141, stderr: '' });
    await gone('pid');
  });

  test('is no matter if it is the stdin of a command that does not read', async () => {
    const { status, stdout, stderr } = await place.run(['echo', 'done'], { input: randomBytes(manyBytes) });

    expect({ status, stdout: stdout.toString(), stderr }).toEqual({
      status: 0,
      stdout: 'done\n',
      stderr: '',
    });
  });
});

function writtenIn(name: string): number {
  try {
    return Number(readFileSync(`${place.workspace}/${name}`, 'utf8'));
  } catch {
    return 0;
  }
}

/** Resolves once the process whose number stands in that file of the workspace is no more. */
async function gone(name: string): Promise<void> {
  await place.prints(['sh', '-c', `while kill -0 "$(cat ${name})" 2>/dev/null; do sleep 0.05; done`]);
}
