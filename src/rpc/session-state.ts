import { messageOf } from '../errors';
import type { Log } from '../system/log';
import { notificationLine } from './answer';
import type { JsonObject } from './json';
import { bodyOf, type Message } from './message';

/**
 * Tells the editor, by `tell`, what an answer to a request of ours says of a session's mode and options, as the agent's
 * own updates would. `modeId`: the mode that the request has set. Source: ACP v1, `SessionUpdate`.
 */
export function tellSessionState(
  sessionId: string,
  answer: Message,
  tell: (line: Buffer) => void,
  log: Log,
  modeId?: unknown,
): void {
  const { modes, configOptions } = (bodyOf(answer) ?? {}) as JsonObject;
  const currentModeId = modeId ?? (modes as JsonObject | null | undefined)?.currentModeId;
  const update = (content: JsonObject): void =>
    tell(notificationLine('session/update', JSON.stringify({ sessionId, update: content })));
  try {
    if (typeof currentModeId === 'string') update({ sessionUpdate: 'current_mode_update', currentModeId });
    if (Array.isArray(configOptions)) update({ sessionUpdate: 'config_option_update', configOptions });
  } catch (reason) {
    // As options that are nested more deeply than can be written.
    log.warn({ reason: messageOf(reason) }, 'the editor cannot be told of a restored session');
  }
}
