/** Calls of the editor while they are served. */
import type { Message } from '../rpc/message';
import type { EditorRequest } from './request-table';
import type { EditorRoute, Method } from '../protocol/methods';

/** A message of the editor that is being served. */
export interface Call {
  /** The message. */
  readonly message: Message;
  /** What the editor sent, if the agent gets another message instead. */
  readonly original?: Message;
  /** The row of its method. */
  readonly row: Method<EditorRoute>;
  /** Its entry in `RequestTable`; undefined for a notification, which is never answered. */
  readonly request: EditorRequest | undefined;
}

/**
 * The message with a line of its own. A short line is a slice of the chunk that it came in, and would keep all of it in
 * memory as long as its call waits or is open.
 */
export function withOwnLine(message: Message): Message {
  const { line } = message;
  return line.buffer.byteLength > 2 * line.length ? { ...message, line: Buffer.from(line) } : message;
}
