import type { Call } from './call';

/** What a call takes besides its line, in bytes. */
const callBytes = 1_024;

/** Counts what the calls that are kept for one purpose take together. */
export class CallBudget {
  #takenBytes = 0;

  /** `limitBytes`: for all calls together; a single call is taken in any case. */
  constructor(private readonly limitBytes: number) {}

  /** Counts a call that is to be kept; false if there is no room for it. */
  take(call: Call): boolean {
    const bytes = bytesOf(call);
    if (this.#takenBytes > 0 && this.#takenBytes + bytes > this.limitBytes) return false;
    this.#takenBytes += bytes;
    return true;
  }

  /** A call that was counted is not kept any more. */
  giveBack(call: Call): void {
    this.#takenBytes -= bytesOf(call);
  }
}

/** A slice keeps all of its buffer in memory. */
function bytesOf({ message }: Call): number {
  return message.line.buffer.byteLength + callBytes;
}
