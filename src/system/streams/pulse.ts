/** When an end of a socket asks the other for a sign of life, and how it knows that the other is gone. */
import type { Socket } from 'node:net';

/** After so many messages or bytes since the last ping, another is due. */
const pingLines = 256;
const pingBytes = 1024 * 1024;
/** A ping is due in any case after this time, in milliseconds. */
const tickMs = 15_000;
/** After so many of these times without a sign of life, the socket is dead. */
const maxSilentTicks = 2;
/** So much the slowest reader takes in a millisecond; how far it has come in one write cannot be seen. */
export const slowestBytesPerMs = 16;

export interface PulseOptions {
  readonly ping: () => void;
  /** Carries the socket's bytes. */
  readonly carrier: Pick<Socket, 'bytesRead' | 'bytesWritten' | 'writableLength'>;
  /** Nothing has come although pings were sent, and nothing was taken. */
  readonly onDead: () => void;
}

interface Seen {
  readonly received: number;
  readonly waiting: number;
  readonly taken: number;
}

export class Pulse {
  #timer: NodeJS.Timeout | undefined;
  #lines = 0;
  #bytes = 0;
  #seen: Seen;
  #silentTicks = 0;
  #isPaused = false;

  /** Begins at once; `stop` ends it. */
  constructor(private readonly options: PulseOptions) {
    this.#seen = this.#look();
    this.#arm();
  }

  sent(bytes: number): void {
    this.#lines++;
    this.#bytes += bytes;
    if (this.#lines >= pingLines || this.#bytes >= pingBytes) this.ping();
  }

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

  stop(): void {
    clearTimeout(this.#timer);
  }

  #arm(): void {
    this.#timer = setTimeout(() => this.#tick(), tickMs);
  }

  #look(): Seen {
    const { bytesRead, bytesWritten, writableLength } = this.options.carrier;
    return { received: bytesRead, waiting: writableLength, taken: bytesWritten - writableLength };
  }

  #tick(): void {
    const before = this.#seen;
    const now = this.#look();
    this.#seen = now;
    // A slow reader cannot answer before it has what waits for it. Where nothing waits, the system takes every ping.
    const hasTaken = before.waiting > 0 && now.taken > before.taken;
    const hasMoved = hasTaken || now.received > before.received;
    this.#silentTicks = hasMoved || this.#isPaused ? 0 : this.#silentTicks + 1;
    // The ping whose answer is missing was sent by the tick before the first silent one.
    if (this.#silentTicks > maxSilentTicks + now.waiting / (slowestBytesPerMs * tickMs)) {
      this.options.onDead();
      return;
    }
    this.ping();
    this.#arm();
  }
}
