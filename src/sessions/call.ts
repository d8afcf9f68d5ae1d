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
