/** What is done with each `session/update` before it goes to the editor. */
import type { Message } from '../rpc/message';
import type { Session } from '../child/workspace-child';
import type { Core } from './core';
import { within } from '../system/time-limit';
import { isMessageChunk, updateKindOf } from '../sessions/observer';

/** The variants that tell how things are now. All others tell what has happened. */
const ofPresent = new Set([
  'current_mode_update',
  'config_option_update',
  'available_commands_update',
  'usage_update',
  'session_info_update',
]);

/** How long an agent is silent after its answer to our `session/load` before it has told all, in milliseconds. */
const replayPauseMs = 250;
/** Running while that is waited for; each update of the session begins it again. */
const replayPauses = new WeakMap<Session, NodeJS.Timeout>();

/**
 * Resolves when an agent that has answered our `session/load` has told all of the session's past, or after `limitMs`.
 * By the protocol that comes before the answer, but Gemini CLI 0.61 goes on with it afterwards.
 */
export async function replayOver(session: Session, limitMs: number): Promise<void> {
  const over = new Promise<void>((resolve) => replayPauses.set(session, setTimeout(resolve, replayPauseMs)));
  await within(limitMs, over);
  clearTimeout(replayPauses.get(session));
  replayPauses.delete(session);
  session.isRestoring = false;
}

/**
 * Tells the observers of an update of a session. False: it is not for the editor, nor for them, since it is
 * history, which an agent tells when it restores a session of ours.
 */
export function observeUpdate(core: Core, session: Session, update: Message): boolean {
  const kind = updateKindOf(update);
  if (session.isRestoring === true) {
    replayPauses.get(session)?.refresh();
    if (!ofPresent.has(kind)) return false;
  }
  if (!isMessageChunk(kind))
    for (const observer of core.observers) observer.onUpdate?.(session, kind, update);
  return true;
}
