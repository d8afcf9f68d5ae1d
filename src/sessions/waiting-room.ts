import type { Call } from './call';

/** What a call takes besides its line, in bytes. */
const callBytes = 1_024;

/** Limits what the calls that are kept for one purpose take together. */
export class WaitingRoom {
  /** Serves a call that has waited. */
  serve: (call: Call) => void = () => undefined;
  #takenBytes = 0;

  /** `sizeBytes`: for all calls together; a single call is taken in any case. */
  constructor(readonly sizeBytes: number) {}

  /** Takes a call in; false if there is no room for it. */
  take(call: Call): boolean {
    const bytes = bytesOf(call);
    if (this.#takenBytes > 0 && this.#takenBytes + bytes > this.sizeBytes) return false;
    this.#takenBytes += bytes;
    return true;
  }

  /** A call that was taken in is not kept any more. */
  leave(call: Call): void {
    this.#takenBytes -= bytesOf(call);
  }
}

/** A slice keeps all of its buffer in memory. */
function bytesOf({ message }: Call): number {
  return message.line.buffer.byteLength + callBytes;
}
