/** One way of lines to a client: what waits for it, and what carries it at a time. */
import type { closeCodes } from '../carried';
import { slowestBytesPerMs } from '../../system/streams/pulse';
import { Outbox, type Keeper } from './outbox';

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

/** What streams of a connection have in common. */
export interface StreamOptions {
  /** Of the lines of all of them. */
  readonly keeper: Keeper;
  /** How long a client may take nothing of what waits for it, in milliseconds. */
  readonly stallMs: number;
}

/** All lines of a connection, or those of one session. */
export class ClientStream {
  readonly #outbox: Outbox;
  #outlet: Outlet | undefined;
  /** Set while the outlet is full: what happens if that lasts. */
  #stall: NodeJS.Timeout | undefined;

  /** `onSlow`: what carries it has to be ended, because the client does not keep up; `reason` is for people. */
  constructor(
    private readonly options: StreamOptions,
    private readonly onSlow: (reason: string) => void,
  ) {
    this.#outbox = new Outbox(options.keeper);
  }

  /** What carries it. */
  get outlet(): Outlet | undefined {
    return this.#outlet;
  }

  /** No line was ever added. */
  get isNew(): boolean {
    return this.#outbox.isNew;
  }

  /** Bytes that wait for the outlet. */
  get unsentBytes(): number {
    return this.#outbox.unsentBytes;
  }

  check(after?: number): void {
    this.#outbox.check(after);
  }

  /** Lines go to that outlet from now on; the caller flushes. Fails as `check` does. */
  carryBy(outlet: Outlet, after?: number): void {
    this.#outbox.goOnAfter(after);
    const before = this.#outlet;
    this.#outlet = outlet;
    before?.close('replaced', 'the client has come back on another way');
  }

  /** Nothing carries it any more. */
  drop(): void {
    this.#outlet = undefined;
    this.#endStall();
  }

  /** Adds a line, which must not be changed afterwards, and sends it if the outlet is not full. */
  push(line: Buffer): void {
    this.#outbox.push(line);
    if (this.#stall === undefined || this.#outbox.hasLost) this.flush();
  }

  /** The outlet takes more: sends what waits for it. */
  flush(): void {
    this.#endStall();
    if (this.#outbox.hasLost && this.#outlet !== undefined)
      this.onSlow('more waited for the client than serve.keep and serve.keep_messages let it');
    while (this.#outlet !== undefined && this.#stall === undefined) {
      const next = this.#outbox.take();
      if (next === undefined) return;
      if (!this.#outlet.send(next.line, next.number)) this.#startStall(next.line.length);
    }
  }

  /** `bytes`: of the line that has filled the outlet. */
  #startStall(bytes: number): void {
    const { stallMs } = this.options;
    const onStall = (): void => this.onSlow(`the client has taken nothing for ${stallMs / 1_000} s`);
    this.#stall = setTimeout(onStall, stallMs + bytes / slowestBytesPerMs);
  }

  #endStall(): void {
    clearTimeout(this.#stall);
    this.#stall = undefined;
  }
}
