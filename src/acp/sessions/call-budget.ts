import { ByteBudget } from '../../rpc/byte-budget';
import { queueToAgent } from '../child/child-failures';
import { CaiError } from '../../errors';
import type { Call } from './call';

/** Limits the memory that the calls take that are kept for one purpose. */
export class CallBudget extends ByteBudget<Call> {
  /** `limitBytes`: for all calls together. */
  constructor(limitBytes: number) {
    // A slice keeps all of its buffer in memory.
    super(limitBytes, queueToAgent, ({ message }) => message.line.buffer.byteLength);
  }

  /** The failure of a call that cannot wait for a session of the editor's. */
  crowded(editorId: string, call: Call): CaiError {
    const text = `too much waits until session ${editorId} can go on: ${this.excessWith(call)}: try again later`;
    return new CaiError('AGENT_STALLED', text);
  }
}
