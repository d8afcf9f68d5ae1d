/** Calls of the editor while they are served. */
import type { Message } from '../../rpc/message';
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
