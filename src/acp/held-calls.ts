/** Calls that wait for a session to be at its agent: in the order of their arrival, and bounded. */
import type { Call } from './call';

/** What a call takes besides its line, in bytes. */
const callBytes = 1_024;

/** What all calls of one proxy that wait may take together. */
export class WaitingRoom {
  /** What those take that wait now, in bytes. */
  takenBytes = 0;

  /** `sizeBytes`: no more than that. */
  constructor(readonly sizeBytes: number) {}
}

/** Those that wait for one session. */
export class HeldCalls {
  #calls: Call[] = [];

  /** They wait in `room`. */
  constructor(private readonly room: WaitingRoom) {}

  /** Adds one at the end; false if there is no room for it. */
  add(call: Call): boolean {
    if (this.room.takenBytes + bytesOf(call) > this.room.sizeBytes) return false;
    this.room.takenBytes += bytesOf(call);
    this.#calls.push(call);
    return true;
  }

  /** Takes all of them out. */
  takeAll(): Call[] {
    for (const call of this.#calls) this.room.takenBytes -= bytesOf(call);
    return this.#calls.splice(0);
  }
}

function bytesOf({ message }: Call): number {
  return message.line.length + callBytes;
}
