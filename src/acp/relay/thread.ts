/** Notes of `cai` itself in a session's thread. */
import { ownMessage, ownUpdateLine } from '../../rpc/answer';
import type { AgentSession } from '../sessions/session';
import type { Core } from './core';
import { offers } from '../../rpc/protocol/capabilities';
import { printableLine } from '../../system/quoted';

export interface ThreadNote {
  /** One sentence that can stand alone. */
  readonly title: string;
  /** Further sentences; the only markup is code between backticks. */
  readonly description: string;
}

/**
 * Writes a note at the end of the session's thread, in this turn of the event loop. An editor that offers notices
 * gets a notice, any other a message as if the agent had written it. Nothing is written without an editor, in a
 * session that is not open, or while an agent tells again what the session was. Source: ACP v1, `Notice`.
 */
export function tellInThread(
  core: Pick<Core, 'isEditorGone' | 'editorCapabilities'>,
  session: AgentSession,
  { title, description }: ThreadNote,
): void {
  const { child, editorId: sessionId } = session;
  if (!hearsNotes(core, session)) return;
  const update = offers(core.editorCapabilities, 'session.notices')
    ? { sessionUpdate: 'notice', severity: 'warning', title, description }
    : ownMessage(`${title} ${description}`);
  child.deliver(ownUpdateLine(sessionId, update));
}

/** Whether what `tellInThread` is given now would be written. */
export function hearsNotes({ isEditorGone }: Pick<Core, 'isEditorGone'>, session: AgentSession): boolean {
  const { child, owner } = session;
  const isTold = owner.state === 'open' || (owner.state === 'restoring' && child.state === 'starting');
  return !isEditorGone && isTold && owner.atAgent === session;
}

/** Of more files only the number is told. */
const maxNamed = 10;
/** Longer names are cut, in characters. */
const maxNameLength = 200;

/** Files in a note. An agent may have chosen the names, and an editor may show the text with markup. */
export function named(paths: readonly string[]): string {
  const names = paths.slice(0, maxNamed).map((path) => {
    const text = printableLine(path).replaceAll('`', '\ufffd');
    const name = `\`${text.length > maxNameLength ? `${text.slice(0, maxNameLength)}…` : text}\``;
    return text.endsWith('/') ? `${name} (other users of this machine can write there)` : name;
  });
  const rest = paths.length - names.length;
  return rest === 0 ? names.join(', ') : `${names.join(', ')} and ${rest} more`;
}
