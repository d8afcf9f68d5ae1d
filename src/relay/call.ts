/** Calls as they pass through the relay: those of agents, and what passing one of the editor on involves. */
import type { CaiError } from '../errors';
import type { Message } from '../rpc/message';
import type { WorkspaceChild } from '../child/workspace-child';
import type { AgentSession } from '../sessions/session';
import type { PathMap } from '../paths/path-map';
import type { AgentRoute, Method } from '../protocol/methods';

/** A message of an agent that is being served. */
export interface AgentCall {
  /** Who sent it. */
  readonly child: WorkspaceChild;
  /** The message. */
  readonly message: Message;
  /** The row of its method. */
  readonly row: Method<AgentRoute>;
  /** The session that it names, if it is open. */
  readonly session: AgentSession | undefined;
}

/** What passing a call of the editor on involves beyond the rewriting of its fields. */
export interface CallContext {
  /** Whose ids and paths the call's fields are in. */
  readonly map: PathMap;
  /** The session that it is about, if it is open. */
  readonly session?: AgentSession | undefined;
  /** Sees a result before it is passed on to the editor. */
  onResult?(result: Message): void;
  /** Is told that there will be no result, but an error answer or none; of a notification with `undefined`. */
  onNoResult?(reason: CaiError | Message | undefined): void;
}
