/** Calls on their way: the editor's and the agents'. */
import type { CaiError } from '../errors';
import type { Message } from '../rpc/message';
import type { EditorRequest } from './request-table';
import type { Session, WorkspaceChild } from '../child/workspace-child';
import type { PathMap } from '../paths/path-map';
import type { AgentRoute, EditorRoute, Method } from '../protocol/methods';

/** A message of the editor that is being served. */
export interface Call {
  /** The message. */
  readonly message: Message;
  /** What the editor sent, where the agent gets another message instead. */
  readonly original?: Message;
  /** The row of its method. */
  readonly row: Method<EditorRoute>;
  /** Its entry in the table; undefined for a notification, which is never answered. */
  readonly request: EditorRequest | undefined;
}

/** A message of an agent that is being served. */
export interface AgentCall {
  /** Who sent it. */
  readonly child: WorkspaceChild;
  /** The message. */
  readonly message: Message;
  /** The row of its method. */
  readonly row: Method<AgentRoute>;
  /** The session that it names, if it is open. */
  readonly session: Session | undefined;
}

/** What passing a call of the editor on involves beyond the rewriting of its fields. */
export interface CallContext {
  /** Whose ids and paths the call's fields are in. */
  readonly map: PathMap;
  /** The session that it is about, if it is open. */
  readonly session?: Session | undefined;
  /** Sees a result before it is passed on to the editor. */
  onResult?(result: Message): void;
  /** Is told that there will be no result, but an error answer or none; of a notification with `undefined`. */
  onNoResult?(reason: CaiError | Message | undefined): void;
}
