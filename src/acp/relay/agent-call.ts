import type { AgentRoute, Method } from '../../rpc/protocol/methods';
import type { Message } from '../../rpc/message';
import type { Child } from '../child/child';
import type { AgentSession } from '../sessions/session';

/** A message of an agent that is being served. */
export interface AgentCall {
  readonly child: Child;
  readonly message: Message;
  readonly row: Method<AgentRoute>;
  /** The session that it names, if it is open. */
  readonly session: AgentSession | undefined;
}
