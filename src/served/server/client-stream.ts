/**
 * Lines on their way to a client. Those that were sent are kept as well, because a client that has lost its connection
 * says how many lines it has and gets the rest.
 */
import { CaiError } from '../../errors';
import { slowestBytesPerMs } from '../../system/streams/pulse';
import { countIn, type closeCodes } from '../carried';
import { type Keeper, KeptLines } from './kept-lines';

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
export class ClientStream extends KeptLines {
  outlet: Outlet | undefined;
  /** Of the lines that were not sent. */
  unsentBytes = 0;
  /** The number of the line that is sent next. */
  #next = 1;
  /** A line was dropped that was not sent. */
  #hasLost = false;
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

  /** There was no line yet. */
  get isNew(): boolean {
    return this.newest === 0;
  }

  /**
   * Fails with `CaiError('GONE')` if lines behind that number are dropped, and with `USAGE` for a number that no line
   * had. Without one: behind the last line that was sent.
   */
  check(number?: number): void {
    const behind = number ?? this.#next - 1;
    if (!Number.isSafeInteger(behind) || behind < 0 || behind > this.newest)
      throw new CaiError(
        'USAGE',
        `there is no message ${behind}: the last one has the number ${this.newest}`,
      );
    const isLost = number === undefined ? this.#hasLost : number + 1 < this.oldest;
    if (!isLost) return;
    const text = `the messages that follow number ${behind} are no longer kept (serve.keep, serve.keep_messages): begin a new connection, and load the sessions`;
    throw new CaiError('GONE', text);
  }

  /** Lines go to that outlet from now on: those behind number `after`. The caller flushes. Fails as `check` does. */
  carryBy(outlet: Outlet, after?: number): void {
    this.check(after);
    if (after !== undefined) {
      this.#hasLost = false;
      this.#next = after + 1;
      const unsent = this.lines.slice(this.#next - this.oldest);
      this.unsentBytes = unsent.reduce((bytes, { length }) => bytes + length, 0);
    }
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
    this.unsentBytes += line.length;
    super.push(line);
    if (this.#stall === undefined || this.#hasLost) this.flush();
  }

  /** The outlet takes more: sends what waits for it. */
  flush(): void {
    this.#endStall();
    if (this.#hasLost && this.outlet !== undefined)
      this.onSlow('more waited for the client than serve.keep and serve.keep_messages let it');
    while (this.outlet !== undefined && this.#stall === undefined) {
      const line = this.at(this.#next);
      if (line === undefined) return;
      this.unsentBytes -= line.length;
      if (!this.outlet.send(line, this.#next++)) this.#startStall(line.length);
    }
  }

  override dropOldest(): Buffer {
    const isUnsent = this.#next === this.oldest;
    const line = super.dropOldest();
    if (isUnsent) {
      this.#hasLost = true;
      this.unsentBytes -= line.length;
      this.#next++;
    }
    return line;
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
