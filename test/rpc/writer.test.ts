import fc from 'fast-check';
import { LineWriter, type Lane } from '../../src/rpc/writer';
import { collectGarbage } from '../support/garbage';
import { runs } from '../support/properties';
import { timersLeftBy } from '../support/timers';
import { Gate } from './gate';

const turnBytes = 80 * 1024;
const budgetBytes = 512 * 1024;

let gate: Gate;
let writer: LineWriter;

beforeEach(() => {
  gate = new Gate();
  writer = new LineWriter(gate, budgetBytes, () => undefined);
});

describe('LineWriter', () => {
  test('never parts a line and keeps the order of each lane, whatever is queued when', async () => {
    const line = fc.record({
      lane: fc.nat(3),
      pieces: fc.nat(2),
      kilobytes: fc.nat(70),
      opens: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 30 }), async (lines) => {
        gate = new Gate();
        writer = new LineWriter(gate, budgetBytes, () => undefined);
        const lanes = [newLane(), newLane(), newLane(), newLane()];
        const expected: string[][] = lanes.map(() => []);
        for (const [i, { lane, pieces, kilobytes, opens }] of lines.entries()) {
          const text = `${lane} ${i} ${'x'.repeat(kilobytes * 1024)}`;
          const rest = Array.from({ length: pieces }, () => Buffer.from('y'));
          lanes[lane]!.queue(
            pieces === 0 ? Buffer.from(`${text}\n`) : [Buffer.from(text), ...rest, Buffer.from('\n')],
          );
          expected[lane]!.push(text + 'y'.repeat(pieces));
          if (opens) gate.open();
        }
        lanes[0]!.queue(Buffer.from('0 end\n'));
        expected[0]!.push('0 end');

        await opened(writer.drain(60_000));

        const written = gate.batches.join('').split('\n').slice(0, -1);
        expect(lanes.map((_, i) => written.filter((text) => text.startsWith(`${i} `)))).toEqual(expected);
        expect(written).toHaveLength(lines.length + 1);
      }),
      { ...runs, numRuns: Math.ceil(runs.numRuns / 10) },
    );
  });

  test('lets a line wait for one turn of each flooded lane, and not for what they have queued', async () => {
    const [flood, other, quiet] = [newLane(), newLane(), newLane()];
    await stall();
    fill(flood, 'f', 10 * turnBytes);
    fill(other, 'o', 10 * turnBytes);
    gate.open();
    expect(await gate.batch(2)).toHaveLength(2 * turnBytes);

    quiet.queue(Buffer.from('quiet\n'));
    gate.open();

    const turn = await gate.batch(3);
    expect(turn).toContain('quiet\n');
    expect(turn).toHaveLength(2 * turnBytes + 'quiet\n'.length);
  });

  test('gives every flooded lane the same share', async () => {
    const lanes = [newLane(), newLane(), newLane()];
    await stall();
    lanes.forEach((lane, i) => fill(lane, String(i), 4 * turnBytes));

    gate.open();
    const turn = await gate.batch(2);

    const shares = ['0', '1', '2'].map(
      (letter) => turn.split('\n').filter((line) => line.startsWith(letter)).length,
    );
    expect(shares).toEqual([80, 80, 80]);
  });

  test('writes a line that is longer than a turn in one', async () => {
    const lane = newLane();
    const long = 'x'.repeat(5 * turnBytes);

    lane.queue(Buffer.from(`${long}\n`));
    lane.queue(Buffer.from('next\n'));

    expect(await gate.batch(1)).toBe(`${long}\n`);
    gate.open();
    expect(await gate.batch(2)).toBe('next\n');
  });

  test('keeps nothing of what a lane has written, also when the lane is never empty', async () => {
    const lane = newLane();
    await stall();
    const written = new WeakRef(fill(lane, 'a', turnBytes));
    fill(lane, 'b', 2 * turnBytes);
    for (let turn = 2; turn <= 3; turn++) {
      gate.open();
      await gate.batch(turn);
    }

    await soon();
    collectGarbage();

    expect(written.deref()).toBeUndefined();
  });
});

describe('the budget', () => {
  test('stops a lane that has half of it queued, until it has less', async () => {
    let rooms = 0;
    const lane = writer.lane(() => rooms++);
    await stall();
    fill(lane, 'a', budgetBytes / 2 - 1024);
    expect(lane.stopIfFull()).toBe(false);
    lane.queue(kilobyte('a'));
    expect(lane.stopIfFull()).toBe(true);
    gate.open();
    await gate.batch(2);
    expect(rooms).toBe(0);

    gate.open();
    await gate.batch(3);

    expect(rooms).toBe(1);
    expect(lane.stopIfFull()).toBe(false);
  });

  test('stops any lane with queued lines once all have it together', async () => {
    const lanes = [newLane(), newLane(), newLane()];
    await stall();

    for (const lane of lanes.slice(0, 2)) fill(lane, 'a', budgetBytes / 2 - 1024);
    lanes[2]!.queue(kilobyte('c'));
    expect(lanes.map((lane) => lane.stopIfFull())).toEqual([false, false, false]);
    lanes[2]!.queue(kilobyte('c'));

    expect(lanes.map((lane) => lane.stopIfFull())).toEqual([true, true, true]);
  });

  test('never stops a lane without queued lines', () => {
    const [full, empty] = [newLane(), newLane()];

    fill(full, 'a', 2 * budgetBytes);

    expect(full.stopIfFull()).toBe(true);
    expect(empty.stopIfFull()).toBe(false);
  });

  test('tells a lane once that there is room, and only one that had to wait', async () => {
    const rooms: string[] = [];
    const waiting = writer.lane(() => rooms.push('waiting'));
    const other = writer.lane(() => rooms.push('other'));
    await stall();
    fill(waiting, 'a', budgetBytes / 2);
    fill(other, 'b', 3 * turnBytes);
    expect(waiting.stopIfFull()).toBe(true);

    await opened(writer.drain(60_000));

    expect(rooms).toEqual(['waiting']);
  });

  test('lets the source go on inside the call', async () => {
    const lane = writer.lane(() => {
      if (sent < 5) send();
    });
    let sent = 0;
    const send = (): void => {
      sent++;
      fill(lane, String(sent), budgetBytes);
      lane.stopIfFull();
    };

    await stall();
    send();
    await opened(writer.drain(60_000));

    expect(gate.batches.join('')).toHaveLength('first\n'.length + 5 * budgetBytes);
  });
});

describe('drain', () => {
  test('resolves at once when nothing is queued', async () => {
    await writer.drain(60_000);

    expect(gate.batches).toEqual([]);
  });

  test('resolves when the last line has been taken', async () => {
    const lane = newLane();
    await stall();
    fill(lane, 'a', 3 * turnBytes);
    let isOver = false;
    const drained = writer.drain(60_000).then(() => (isOver = true));

    for (let turn = 1; turn <= 4; turn++) {
      await gate.batch(turn);
      expect(isOver).toBe(false);
      gate.open();
    }

    await drained;
    expect(gate.batches.map(({ length }) => length)).toEqual([6, turnBytes, turnBytes, turnBytes]);
  });

  test('goes on as long as something is taken, however long all of it takes', async () => {
    await stall();
    fill(newLane(), 'a', 6 * turnBytes);
    const slow = setInterval(() => gate.open(), 100);

    await writer.drain(400);

    clearInterval(slow);
    expect(gate.batches.join('')).toHaveLength('first\n'.length + 6 * turnBytes);
  });

  test('leaves no timer behind', async () => {
    newLane().queue(Buffer.from('a\n'));

    expect(await timersLeftBy(60_000, () => opened(writer.drain(60_000)))).toBe(0);
  });

  test('gives up when nothing was taken for that long, and not before', async () => {
    await stall();
    fill(newLane(), 'a', 3 * turnBytes);
    const start = performance.now();

    await writer.drain(50);

    expect(performance.now() - start).toBeGreaterThan(45);
    expect(gate.batches).toHaveLength(1);
  });
});

/** Has the writer wait for the stream, so that what is queued from now on stays queued. */
async function stall(): Promise<void> {
  newLane().queue(Buffer.from('first\n'));
  await gate.batch(1);
}

/** Has the stream take everything until that is over. */
async function opened(over: Promise<void>): Promise<void> {
  while (!(await Promise.race([over.then(() => true), soon()]))) gate.open();
}

function newLane(): Lane {
  return writer.lane(() => undefined);
}

/** A line of 1,024 bytes. */
function kilobyte(letter: string): Buffer {
  return Buffer.from(`${letter.repeat(1023)}\n`);
}

/** Queues so many bytes, in lines of 1,024; returns the first of them. */
function fill(lane: Lane, letter: string, bytes: number): Buffer {
  const lines = Array.from({ length: bytes / 1024 }, () => kilobyte(letter));
  for (const line of lines) lane.queue(line);
  return lines[0]!;
}

/** Lets everything happen that is due. */
async function soon(): Promise<false> {
  return await new Promise((resolve) => setImmediate(() => resolve(false)));
}
