/** What `cai` itself says in a session's thread. */
import { randomUUID } from 'node:crypto';
import { notificationLine } from '../rpc/answer';
import type { JsonObject } from '../child/child-data';
import type { AgentSession } from '../sessions/session';
import type { Core } from './core';
import { offers } from '../protocol/refusals';

/** Something that the user is to know of a session while it is open. */
export interface ThreadNote {
  /** One sentence that can stand alone. */
  readonly title: string;
  /** What there is to know or to do besides; text without markup but for code between backticks. */
  readonly description: string;
}

/**
 * Tells the user, behind all that the session's agent has said so far; in this turn of the event loop. An editor that
 * offers notices gets one, any other a message of its own, as if the agent had written it. Nothing is said where
 * nobody would read it: without an editor, in a session that is no longer open, or while its past is told again.
 * Source: ACP v1, `Notice`.
 */
export function tellInThread(
  core: Pick<Core, 'isEditorGone' | 'editorCapabilities'>,
  session: AgentSession,
  { title, description }: ThreadNote,
): void {
  const { child, owner, editorId: sessionId } = session;
  const isOpen = owner.state === 'open' && owner.open === session;
  if (core.isEditorGone || !isOpen) return;
  const update = offers(core.editorCapabilities, 'session.notices')
    ? { sessionUpdate: 'notice', severity: 'warning', title, description }
    : message(`\n\ncai: ${title} ${description}\n\n`);
  child.deliver(notificationLine('session/update', JSON.stringify({ sessionId, update })));
}

/** Its own id keeps it apart from the agent's text, where the editor knows such ids; empty lines do elsewhere. */
function message(text: string): JsonObject {
  return {
    sessionUpdate: 'agent_message_chunk',
    messageId: randomUUID(),
    content: { type: 'text', text },
  };
}
