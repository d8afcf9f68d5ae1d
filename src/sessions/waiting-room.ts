import type { Call } from './call';

/** What a call takes besides its line, in bytes. */
const callBytes = 1_024;

/** The room for all calls of one proxy that wait for their sessions. */
export class WaitingRoom {
  /** Serves a call that has waited. */
  serve: (call: Call) => void = () => undefined;
  #takenBytes = 0;

  /** `sizeBytes` is what the calls that wait may take together; a single one may wait in any case. */
  constructor(private readonly sizeBytes: number) {}

  /** Takes a call in; false if there is no room for it. */
  take(call: Call): boolean {
    const bytes = bytesOf(call);
    if (this.#takenBytes > 0 && this.#takenBytes + bytes > this.sizeBytes) return false;
    this.#takenBytes += bytes;
    return true;
  }

  /** A call that was taken in waits no longer. */
  leave(call: Call): void {
    this.#takenBytes -= bytesOf(call);
  }
}

function bytesOf({ message }: Call): number {
  return message.line.length + callBytes;
}
