import { messageOf, type CaiError } from '../errors';
import type { Log } from '../system/log';
import { notificationLine } from '../rpc/answer';
import { bodyOf, type Message } from '../rpc/message';
import type { JsonObject } from '../child/child-data';
import type { AgentSession } from '../sessions/session';
import type { Setting } from '../sessions/session-settings';
import { within } from '../system/time-limit';

/** How long a mode or an option may take to be set again, in milliseconds. */
const settingMs = 10_000;

/**
 * Sets something again in a session, and tells the editor, which the agent may have told of what it begins with.
 * What the agent does not want is only logged; `onSet` is called where it has agreed, before anything else that it
 * says. False: it has not answered.
 */
export async function setAgain(
  session: AgentSession,
  { method, params }: Setting,
  log: Log,
  onSet: () => void,
): Promise<boolean> {
  const { child, agentId } = session;
  const text = JSON.stringify({ ...params, sessionId: agentId });
  const failed = (reason: string): void => log.warn({ method, reason }, 'could not be set again');
  const onAnswer = (answer: Message): void => {
    if (answer.isError) {
      failed('the agent refused it');
    } else {
      tellState(session, answer, log, method === 'session/set_mode' ? params.modeId : undefined);
      onSet();
    }
  };
  try {
    if ((await within(settingMs, child.ask(method, text, { onAnswer }))) !== undefined) return true;
    failed(`no answer in ${settingMs / 1_000} s`);
    return false;
  } catch (reason) {
    failed((reason as CaiError).code);
    return true;
  }
}

/**
 * Tells the editor what an answer to a request of ours says of a session's mode and options, as the agent's own
 * updates would. `modeId`: the mode that the request has set. Source: ACP v1, `SessionUpdate`.
 */
export function tellState(session: AgentSession, answer: Message, log: Log, modeId?: unknown): void {
  const { child, editorId: sessionId } = session;
  // It may have been closed meanwhile.
  if (session.owner.open !== session) return;
  const { modes, configOptions } = (bodyOf(answer) ?? {}) as JsonObject;
  const currentModeId = modeId ?? (modes as JsonObject | null | undefined)?.currentModeId;
  const tell = (update: JsonObject): void =>
    child.deliver(notificationLine('session/update', JSON.stringify({ sessionId, update })));
  try {
    if (typeof currentModeId === 'string') tell({ sessionUpdate: 'current_mode_update', currentModeId });
    if (Array.isArray(configOptions)) tell({ sessionUpdate: 'config_option_update', configOptions });
  } catch (reason) {
    // As options that are nested more deeply than can be written.
    const about = { root: child.root, reason: messageOf(reason) };
    log.warn(about, 'the editor cannot be told of a restored session');
  }
}
