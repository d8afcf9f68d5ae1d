/** What is done with each `session/update` before it goes to the editor. */
import type { Message } from '../rpc/message';
import type { AgentSession } from '../sessions/session';
import type { Core } from './core';
import { isMessageChunk, updateKindOf } from '../sessions/session-update';

/** The variants that tell how things are now. All others tell what has happened. */
const ofPresent = new Set([
  'current_mode_update',
  'config_option_update',
  'available_commands_update',
  'usage_update',
  'session_info_update',
]);

/**
 * Tells the observers of an update of a session. False: it is not for the editor, nor for them, since it is
 * history, which an agent tells when it restores a session of ours.
 */
export function observeUpdate(core: Core, session: AgentSession, update: Message): boolean {
  const kind = updateKindOf(update);
  if (session.owner.state === 'restoring') {
    session.owner.toldPast();
    if (!ofPresent.has(kind)) return false;
  }
  if (!isMessageChunk(kind))
    for (const observer of core.observers) observer.onUpdate?.(session, kind, update);
  return true;
}
