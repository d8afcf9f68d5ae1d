/** Calls that wait for a session to be at its agent: in the order of their arrival, and bounded. */
import { resultLine } from '../rpc/answer';
import type { Call } from '../relay/call';
import type { Core } from '../relay/core';

/** What a call takes besides its line, in bytes. */
const callBytes = 1_024;

/** What all calls of one proxy that wait may take together; one may wait in any case. */
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
    const { takenBytes, sizeBytes } = this.room;
    if (takenBytes > 0 && takenBytes + bytesOf(call) > sizeBytes) return false;
    this.room.takenBytes += bytesOf(call);
    this.#calls.push(call);
    return true;
  }

  /** Takes all of them out. */
  takeAll(): Call[] {
    return this.#take(() => true);
  }

  /** Answers the prompts, which no agent has got. Source: ACP v1, prompt turn, cancellation. */
  cancelPrompts(core: Core): void {
    for (const call of this.#take(({ message }) => message.method === 'session/prompt'))
      if (call.request !== undefined)
        core.answer(call, resultLine(call.request.id, '{"stopReason":"cancelled"}'));
  }

  #take(isWanted: (call: Call) => boolean): Call[] {
    const taken = this.#calls.filter(isWanted);
    this.#calls = this.#calls.filter((call) => !isWanted(call));
    for (const call of taken) this.room.takenBytes -= bytesOf(call);
    return taken;
  }
}

function bytesOf({ message }: Call): number {
  return message.line.length + callBytes;
}
