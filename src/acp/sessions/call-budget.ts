import { ByteBudget } from '../../rpc/byte-budget';
import { queueToAgent } from '../child/child-failures';
import type { Call } from './call';

/** Limits the memory that the calls take that are kept for one purpose. */
export class CallBudget extends ByteBudget<Call> {
  /** `limitBytes`: for all calls together. */
  constructor(limitBytes: number) {
    // A slice keeps all of its buffer in memory.
    super(limitBytes, queueToAgent, ({ message }) => message.line.buffer.byteLength);
  }
}
