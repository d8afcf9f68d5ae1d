/**
 * Lines on their way to a client, numbered from 1. Those that were sent are kept as well, the latest of them, because a
 * client that has lost its connection says how many lines it has and gets the rest.
 */
import { CaiError } from '../../errors';
import { slowestBytesPerMs } from '../../system/streams/pulse';
import { countIn, type closeCodes } from '../carried';

/** How much all outboxes of a connection keep together. */
export interface KeepLimits {
  /** Of lines without their line ends. */
  readonly bytes: number;
  readonly lines: number;
}

/** The lines that several outboxes keep within one budget. */
export class Keeper {
  #bytes = 0;
  #lines = 0;
  readonly #outboxes = new Set<Outbox>();

  constructor(private readonly limits: KeepLimits) {}

  /**
   * Called by outboxes: one has got a line. The oldest lines of the largest go until all are within the limits; that line
   * itself stays, as it is to be sent.
   */
  added(outbox: Outbox, line: Buffer): void {
    this.#outboxes.add(outbox);
    this.#count(line, 1);
    while (this.#bytes > this.limits.bytes || this.#lines > this.limits.lines) {
      const droppable = [...this.#outboxes].filter((each) => each.count > (each === outbox ? 1 : 0));
      if (droppable.length === 0) return;
      const largest = droppable.reduce((most, each) => (each.bytes > most.bytes ? each : most));
      this.#count(largest.dropOldest(), -1);
    }
  }

  /** Called when an outbox is needed no more. */
  forget(outbox: Outbox): void {
    if (!this.#outboxes.delete(outbox)) return;
    for (const line of outbox.lines) this.#count(line, -1);
  }

  #count({ length }: Buffer, sign: 1 | -1): void {
    this.#bytes += sign * length;
    this.#lines += sign;
  }
}

export class Outbox {
  #lines: Buffer[] = [];
  /** Where in `#lines` the oldest that is kept stands; what is before it is dropped now and then. */
  #head = 0;
  /** The number of the oldest that is kept. */
  #oldest = 1;
  #next = 1;
  bytes = 0;
  /** Of the lines that `take` has not given. */
  unsentBytes = 0;
  /** A line was dropped that `take` had not given: whoever takes the next ones has a gap. */
  hasLost = false;

  /** `keeper` may be shared with others. */
  constructor(private readonly keeper: Keeper) {}

  get count(): number {
    return this.#lines.length - this.#head;
  }

  get isNew(): boolean {
    return this.#oldest === 1 && this.#lines.length === 0;
  }

  get lines(): readonly Buffer[] {
    return this.#lines.slice(this.#head);
  }

  get isWhole(): boolean {
    return this.#oldest === 1;
  }

  /** Adds a line, which must not be changed afterwards. */
  push(line: Buffer): void {
    this.#lines.push(line);
    this.bytes += line.length;
    this.unsentBytes += line.length;
    this.keeper.added(this, line);
  }

  /** The next line, in order; undefined: all lines were taken. */
  take(): { readonly line: Buffer; readonly number: number } | undefined {
    const line = this.#lines[this.#head + this.#next - this.#oldest];
    if (line === undefined) return undefined;
    this.unsentBytes -= line.length;
    return { line, number: this.#next++ };
  }

  /**
   * Fails with `CaiError('GONE')` if lines behind that number are dropped, and with `USAGE` for a number that no line
   * had. Without one: behind the last line that `take` has given.
   */
  check(number?: number): void {
    const behind = number ?? this.#next - 1;
    const newest = this.#oldest + this.count - 1;
    if (!Number.isSafeInteger(behind) || behind < 0 || behind > newest)
      throw new CaiError('USAGE', `there is no message ${behind}: the last one has the number ${newest}`);
    const isLost = number === undefined ? this.hasLost : number + 1 < this.#oldest;
    if (!isLost) return;
    const text = `the messages that follow number ${behind} are no longer kept (serve.keep, serve.keep_messages): begin a new connection, and load the sessions`;
    throw new CaiError('GONE', text);
  }

  /** `take` goes on behind that number. Fails as `check` does. */
  goOnAfter(number?: number): void {
    this.check(number);
    if (number === undefined) return;
    this.hasLost = false;
    this.#next = number + 1;
    this.unsentBytes = 0;
    for (const line of this.#lines.slice(this.#head + this.#next - this.#oldest))
      this.unsentBytes += line.length;
  }

  forget(): void {
    this.keeper.forget(this);
  }

  /** Called by the keeper. */
  dropOldest(): Buffer {
    const line = this.#lines[this.#head]!;
    if (this.#next === this.#oldest) {
      this.hasLost = true;
      this.unsentBytes -= line.length;
      this.#next++;
    }
    this.#head++;
    this.#oldest++;
    this.bytes -= line.length;
    if (this.#head * 2 > this.#lines.length) {
      this.#lines = this.#lines.slice(this.#head);
      this.#head = 0;
    }
    return line;
  }
}

/** Why a server ends what carries a connection. */
export type Closing = keyof typeof closeCodes;

/** What carries lines to a client: a WebSocket, a stream of events, a socket. */
export interface Outlet {
  /**
   * Sends a line, given without line end. False: it is full; `flush` of the connection says that it takes more.
   * `number` counts the lines of its stream from 1.
   */
  send(line: Buffer, number: number): boolean;
  /** Ends it; `reason` is for people. */
  close(why: Closing, reason: string): void;
}

/** All lines of a connection, or those of one session, with what carries them at a time. */
export class ClientStream extends Outbox {
  outlet: Outlet | undefined;
  /** Set while the outlet is full: what happens if that lasts. */
  #stall: NodeJS.Timeout | undefined;

  /**
   * `stallMs`: how long a client may take nothing of what waits for it; `onSlow`: the outlet has to be ended, because the
   * client does not keep up; `reason` is for people.
   */
  constructor(
    keeper: Keeper,
    private readonly stallMs: number,
    private readonly onSlow: (reason: string) => void,
  ) {
    super(keeper);
  }

  /** Lines go to that outlet from now on; the caller flushes. Fails as `check` does. */
  carryBy(outlet: Outlet, after?: number): void {
    this.goOnAfter(after);
    const before = this.outlet;
    this.outlet = outlet;
    before?.close('replaced', 'the client has come back on another way');
  }

  drop(): void {
    this.outlet = undefined;
    this.#endStall();
  }

  /** Sends the line, too, if the outlet is not full. */
  override push(line: Buffer): void {
    super.push(line);
    if (this.#stall === undefined || this.hasLost) this.flush();
  }

  /** The outlet takes more: sends what waits for it. */
  flush(): void {
    this.#endStall();
    if (this.hasLost && this.outlet !== undefined)
      this.onSlow('more waited for the client than serve.keep and serve.keep_messages let it');
    while (this.outlet !== undefined && this.#stall === undefined) {
      const next = this.take();
      if (next === undefined) return;
      if (!this.outlet.send(next.line, next.number)) this.#startStall(next.line.length);
    }
  }

  /** `bytes`: of the line that has filled the outlet. */
  #startStall(bytes: number): void {
    const onStall = (): void => this.onSlow(`the client has taken nothing for ${this.stallMs / 1_000} s`);
    this.#stall = setTimeout(onStall, this.stallMs + bytes / slowestBytesPerMs);
  }

  #endStall(): void {
    clearTimeout(this.#stall);
    this.#stall = undefined;
  }
}

/** The number of received messages, as a client's header has it. Throws `CaiError('USAGE')` for what is no number. */
export function receivedCount(value: string | string[] | undefined): number | undefined {
  if (value === undefined) return undefined;
  const count = countIn(value);
  if (count !== undefined) return count;
  throw new CaiError('USAGE', 'the number of received messages is not a number');
}
