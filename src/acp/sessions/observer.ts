/** Observers follow sessions without changing what is passed on: titles, usage, settings, notes. */
import type { Message } from '../../rpc/message';
import type { AgentSession } from './session';
import { isSetter } from './session-settings';

/**
 * Each is called in the order of the wire, before the line is queued, with the message as it came from its
 * sender. It must neither throw nor keep a message, whose bytes keep a whole chunk in memory.
 */
export interface SessionObserver {
  /**
   * `request` of the editor has opened it: new, load, resume or fork; `result` is the agent's. Other calls may
   * come before, and so may updates. `isRestored`: `request` was repeated by us, because its agent had ended.
   */
  onOpen?(session: AgentSession, request: Message, result: Message, isRestored: boolean): void;
  /** A call of the editor is sent to its agent. */
  onCall?(session: AgentSession, call: Message): void;
  /** Its agent has answered a request of the editor, with a result or an error. */
  onAnswer?(session: AgentSession, method: string, answer: Message): void;
  /** Its agent has ended without an answer to a request of the editor, given without its line. */
  onLost?(session: AgentSession, call: Message): void;
  /** A prompt was answered, or will not be: called right after `onAnswer` or `onLost`. */
  onPromptOver?(session: AgentSession): void;
  /**
   * Its agent sends a `session/update` that is no message chunk; `kind` is the value of `sessionUpdate`, empty if it
   * has none.
   */
  onUpdate?(session: AgentSession, kind: string, update: Message): void;
  /** The session, in which the user can still be told something, is about to be closed, or opened again. */
  onLeaving?(session: AgentSession): void;
  /** The session is not open any more: closed, deleted, or its agent has ended. */
  onClose?(session: AgentSession): void;
  /** All sessions are closed, and the process is about to exit: resolves when nothing is left to write. */
  end?(): Promise<void>;
}

/** Notes in each session its settings, and whether it was used for more than settings. */
export const settingsObserver: SessionObserver = {
  onOpen({ owner }, { method }, result, isRestored) {
    // A session may be used already, if its agent has sent updates before this answer.
    if (method === 'session/new') owner.isUnused ??= true;
    // The settings in the answer to a restore are not those that were set last.
    if (isRestored) return;
    if (method === 'session/new') owner.settings.readFirst(result);
    else owner.settings.readResult(result);
  },

  onCall({ owner }, call) {
    if (isSetter(call.method)) owner.settings.readCall(call);
    else if (call.method !== 'session/cancel') owner.isUnused = false;
  },

  onAnswer({ owner }, method, answer) {
    if (isSetter(method)) owner.settings.readAnswer(answer);
  },

  onLost({ owner }, call) {
    if (isSetter(call.method)) owner.settings.forgetCall(call);
  },

  onUpdate({ owner }, kind, update) {
    if (owner.state !== 'restoring') owner.settings.readUpdate(kind, update);
  },
};
