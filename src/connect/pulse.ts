/** When an end of a socket asks the other for a sign of life, and what it learns by it. */

/** After so many messages or bytes since the last ping, another is due. */
const pingLines = 256;
const pingBytes = 1024 * 1024;
/** A ping is due in any case after this time, in milliseconds. */
const tickMs = 15_000;
/** After so many of these times without a sign of life, the socket is dead. */
const maxSilentTicks = 2;

/** What a pulse is about. */
export interface PulseOptions {
  /** Sends a ping. */
  readonly ping: () => void;
  /** Bytes that have come so far, and bytes that wait to be taken. */
  readonly look: () => { readonly received: number; readonly waiting: number };
  /** Nothing has come although pings were sent, and nothing was taken. */
  readonly onDead: () => void;
}

/** The pings of one socket. */
export class Pulse {
  #timer: NodeJS.Timeout | undefined;
  #lines = 0;
  #bytes = 0;
  #seen: ReturnType<PulseOptions['look']>;
  #silentTicks = 0;
  #isPaused = false;

  /** Begins at once; `stop` ends it. */
  constructor(private readonly options: PulseOptions) {
    this.#seen = options.look();
    this.#arm();
  }

  /** A message was sent. */
  sent(bytes: number): void {
    this.#lines++;
    this.#bytes += bytes;
    if (this.#lines >= pingLines || this.#bytes >= pingBytes) this.ping();
  }

  /** Sends a ping now. */
  ping(): void {
    this.#lines = 0;
    this.#bytes = 0;
    this.options.ping();
  }

  /** While nothing is read, silence means nothing. */
  setPaused(isPaused: boolean): void {
    this.#isPaused = isPaused;
    this.#silentTicks = 0;
  }

  /** No more pings. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  #arm(): void {
    this.#timer = setTimeout(() => this.#tick(), tickMs);
  }

  #tick(): void {
    const before = this.#seen;
    this.#seen = this.options.look();
    const hasMoved = this.#seen.received !== before.received || this.#seen.waiting < before.waiting;
    this.#silentTicks = hasMoved || this.#isPaused ? 0 : this.#silentTicks + 1;
    // The ping whose answer is missing was sent by the tick before the first silent one.
    if (this.#silentTicks > maxSilentTicks) {
      this.options.onDead();
      return;
    }
    this.ping();
    this.#arm();
  }
}
