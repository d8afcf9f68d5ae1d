/**
 * The one writer: every line to the editor passes through its queue, whole and in order. Each source of
 * lines (a child, or the proxy itself) has a lane; lanes take turns, so that a flood in one delays the
 * others by a turn and not by its length.
 */
import type { Writable } from 'node:stream';
import PQueue from 'p-queue';
import { writeAtOnce } from '../system/streams/turn-writer';
import { within } from '../system/time-limit';
import { lengthOf, type Line } from './splice';

/** What a lane may write before the next has its turn, in bytes; one line may be longer. */
const turnBytes = 80 * 1024;

/** Lines from one source, kept in their order. */
export interface Lane {
  /** Queues a line. Never waits and never drops; call `stopIfFull` after it. */
  queue(line: Line): void;
  /** True: the lane is full, and `onRoom` will be called once there is room. Stop reading the source. */
  stopIfFull(): boolean;
}

class QueuedLane implements Lane {
  readonly lines: Line[] = [];
  bytes = 0;
  isStopped = false;

  constructor(
    private readonly writer: LineWriter,
    readonly onRoom: () => void,
  ) {}

  queue(line: Line): void {
    this.writer.accept(this, line);
  }

  stopIfFull(): boolean {
    this.isStopped = this.writer.isOverBudget(this);
    return this.isStopped;
  }
}

/** Writes lines to a stream in turns, within a byte budget. */
export class LineWriter {
  readonly #turns = new PQueue({ concurrency: 1 });
  /** The lanes that have queued lines, in the order of their turns. */
  #lanes: QueuedLane[] = [];
  #bytes = 0;
  #isBroken = false;
  /** A turn has begun, or is about to. */
  #isScheduled = false;
  #turnCount = 0;

  /**
   * `budgetBytes`: queued bytes above which all sources are asked to stop; each may have at most half of it.
   * `onBroken` is called once when the stream fails; everything queued then and later is dropped. `onWrite` sees
   * each line when its turn has come.
   */
  constructor(
    private readonly stream: Writable,
    private readonly budgetBytes: number,
    private readonly onBroken: (reason: Error) => void,
    private readonly onWrite?: (line: Line) => void,
  ) {
    stream.on('error', (reason) => this.#break(reason));
  }

  /** A lane for a new source; `onRoom` is called when a source that had to wait may go on. */
  lane(onRoom: () => void): Lane {
    return new QueuedLane(this, onRoom);
  }

  /** Resolves when all that is queued has been handed to the system, or nothing was taken for `stallMs`. */
  async drain(stallMs: number): Promise<void> {
    const written = this.#written().then(() => true);
    for (;;) {
      const before = this.#turnCount;
      const isWritten = await within(stallMs, written);
      if (isWritten === true || this.#turnCount === before) return;
    }
  }

  async #written(): Promise<void> {
    // A turn that is about to begin is no task yet.
    while (this.#isScheduled) await this.#turns.onIdle();
  }

  /** Called by lanes. */
  accept(lane: QueuedLane, line: Line): void {
    if (this.#isBroken) return;
    const length = lengthOf(line);
    if (lane.lines.length === 0) this.#lanes.push(lane);
    lane.lines.push(line);
    lane.bytes += length;
    this.#bytes += length;
    this.#schedule();
  }

  /** Called by lanes. A lane without queued lines is never full, whatever the others do. */
  isOverBudget(lane: QueuedLane): boolean {
    return lane.bytes >= this.budgetBytes / 2 || (lane.bytes > 0 && this.#bytes >= this.budgetBytes);
  }

  #schedule(): void {
    if (this.#isScheduled || this.#bytes === 0) return;
    this.#isScheduled = true;
    // In a microtask: a reader first queues all lines of its chunk.
    queueMicrotask(() => this.#writeTurn());
  }

  /** Takes one turn of each lane. A turn is a task where the stream does not take all of it at once. */
  #writeTurn(): void {
    const pieces: Buffer[] = [];
    const lanes = this.#lanes;
    this.#lanes = [];
    for (const lane of lanes) this.#take(lane, pieces);
    let onTaken = (): void => undefined;
    if (!this.#isBroken) writeAtOnce(this.stream, pieces, () => onTaken());
    if (this.#isBroken || this.stream.writableLength === 0) {
      this.#endTurn(lanes);
      return;
    }
    const taken = new Promise<void>((resolve) => (onTaken = resolve));
    void this.#turns.add(async () => {
      await taken;
      this.#endTurn(lanes);
    });
  }

  #endTurn(lanes: readonly QueuedLane[]): void {
    this.#isScheduled = false;
    this.#turnCount++;
    for (const lane of lanes) {
      if (lane.isStopped && !lane.stopIfFull()) lane.onRoom();
    }
    this.#schedule();
  }

  #take(lane: QueuedLane, pieces: Buffer[]): void {
    const { lines } = lane;
    let taken = 0;
    let count = 0;
    while (count < lines.length && taken < turnBytes) {
      const line = lines[count++]!;
      this.onWrite?.(line);
      if (Buffer.isBuffer(line)) pieces.push(line);
      else pieces.push(...line);
      taken += lengthOf(line);
    }
    // Written lines are removed also from a lane that is never empty.
    if (count === lines.length) lines.length = 0;
    else lines.splice(0, count);
    lane.bytes -= taken;
    this.#bytes -= taken;
    if (lines.length > 0) this.#lanes.push(lane);
  }

  #break(reason: Error): void {
    if (this.#isBroken) return;
    this.#isBroken = true;
    this.#bytes = 0;
    const lanes = this.#lanes;
    this.#lanes = [];
    for (const lane of lanes) {
      lane.lines.length = 0;
      lane.bytes = 0;
      if (lane.isStopped && !lane.stopIfFull()) lane.onRoom();
    }
    this.onBroken(reason);
  }
}
