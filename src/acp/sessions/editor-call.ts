/** Calls of the editor while they are served. */
import { CaiError } from '../../errors';
import { ByteBudget } from '../../rpc/byte-budget';
import type { Message } from '../../rpc/message';
import { queueToAgent } from '../child/child-failures';
import type { EditorRequest } from './request-table';
import type { EditorRoute, Method } from '../../rpc/protocol/methods';

/** A message of the editor that is being served. */
export interface Call {
  readonly message: Message;
  /** What the editor sent, if the agent gets another message instead. */
  readonly original?: Message;
  readonly row: Method<EditorRoute>;
  /** Its entry in `RequestTable`; undefined for a notification, which is never answered. */
  readonly request: EditorRequest | undefined;
}

/**
 * The call with its own line, for whoever keeps it longer than this turn of the event loop: most lines are slices,
 * which would keep the whole chunk that it came in.
 */
export function withOwnLine(call: Call): Call {
  const { line } = call.message;
  if (line.buffer.byteLength === line.length) return call;
  // Not from the pool that small buffers share.
  const own = Buffer.allocUnsafeSlow(line.length);
  line.copy(own);
  return { ...call, message: { ...call.message, line: own } };
}

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
