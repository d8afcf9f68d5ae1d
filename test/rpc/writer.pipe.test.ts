import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { LineWriter, type Lane } from '../../src/rpc/writer';

const budgetBytes = 1024 * 1024;

let reader: ChildProcessWithoutNullStreams;
let writer: LineWriter;
/** Reasons for which the writer gave up. */
let broken: string[];

afterEach(async () => {
  if (reader.exitCode !== null || reader.signalCode !== null) return;
  reader.kill('SIGKILL');
  await once(reader, 'exit');
});

describe('LineWriter on a pipe', () => {
  test('brings every line of every lane to the reader', async () => {
    start('cat');
    const received: Buffer[] = [];
    reader.stdout.on('data', (chunk: Buffer) => received.push(chunk));
    const lanes = [newLane(), newLane(), newLane()];

    for (let i = 0; i < 3_000; i++) lanes[i % 3]!.queue(Buffer.from(`${i % 3} ${i} ${'é'.repeat(i)}\n`));
    await writer.drain(60_000);
    reader.stdin.end();
    await once(reader.stdout, 'end');

    const lines = Buffer.concat(received).toString().split('\n').slice(0, -1);
    const sent = Array.from({ length: 3_000 }, (_, i) => `${i % 3} ${i} ${'é'.repeat(i)}`);
    for (const lane of ['0', '1', '2']) {
      expect(lines.filter((line) => line.startsWith(lane))).toEqual(
        sent.filter((line) => line.startsWith(lane)),
      );
    }
    expect(lines).toHaveLength(3_000);
  });

  test('drains until nothing has been taken for that long, when the reader does not read', async () => {
    start('sleep', '60');
    const lane = newLane();
    fill(lane);

    await writer.drain(50);

    expect(lane.stopIfFull()).toBe(true);
    expect(broken).toEqual([]);
  });

  test('tells once that the reader is gone, and drops what is queued then and later', async () => {
    start('sleep', '60');
    const lane = newLane();
    fill(lane);
    await writer.drain(50);

    reader.kill('SIGKILL');
    await writer.drain(60_000);
    fill(lane);
    await writer.drain(60_000);

    expect(broken).toHaveLength(1);
    expect(lane.stopIfFull()).toBe(false);
  });

  test('lets every lane go on that had to wait for a reader that is gone, also one that came late', async () => {
    start('sleep', '60');
    const rooms: string[] = [];
    const first = writer.lane(() => rooms.push('first'));
    const late = writer.lane(() => rooms.push('late'));
    fill(first);
    await writer.drain(50);
    expect(first.stopIfFull()).toBe(true);
    fill(late);
    expect(late.stopIfFull()).toBe(true);

    reader.kill('SIGKILL');
    await writer.drain(60_000);

    expect(rooms.sort()).toEqual(['first', 'late']);
  });
});

function start(program: string, ...args: string[]): void {
  reader = spawn(program, args);
  broken = [];
  writer = new LineWriter(reader.stdin, budgetBytes, (reason) => broken.push(reason.message));
}

function newLane(): Lane {
  return writer.lane(() => undefined);
}

/** Queues more than a pipe holds. */
function fill(lane: Lane): void {
  for (let i = 0; i < 2 * 1024; i++) lane.queue(Buffer.from(`${'x'.repeat(1023)}\n`));
}
