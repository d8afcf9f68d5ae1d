import type { Call } from './call';

/** What a call takes besides its line, in bytes. */
const callBytes = 1_024;

/** Limits what all waiting calls of one proxy take together. */
export class WaitingRoom {
  /** Serves a call that has waited. */
  serve: (call: Call) => void = () => undefined;
  #takenBytes = 0;

  /** `sizeBytes`: for all waiting calls together; a single call may wait in any case. */
  constructor(private readonly sizeBytes: number) {}

  /** Takes a call in; false if there is no room for it. */
  take(call: Call): boolean {
    const bytes = bytesOf(call);
    if (this.#takenBytes > 0 && this.#takenBytes + bytes > this.sizeBytes) return false;
    this.#takenBytes += bytes;
    return true;
  }

  /** A call that was taken in does not wait any more. */
  leave(call: Call): void {
    this.#takenBytes -= bytesOf(call);
  }
}

function bytesOf({ message }: Call): number {
  return message.line.length + callBytes;
}
