/** Those who follow sessions without a part in what is passed on: titles, usage, what a crash must not lose. */
import type { Message } from '../rpc/message';
import type { AgentSession } from './session';
import { isSetter } from './session-settings';

/**
 * Each is called in the order of the wire, before the line is queued, with the message as it came from its
 * sender. It must neither throw nor keep a message, whose bytes are those of a whole chunk.
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
  /** Its agent has ended without an answer to a request of the editor. */
  onLost?(session: AgentSession, call: Message): void;
  /**
   * Its agent sends a `session/update` that is no message chunk; `kind` is the value of `sessionUpdate`, empty if it
   * has none.
   */
  onUpdate?(session: AgentSession, kind: string, update: Message): void;
  /** It is open no longer: closed, deleted, or its agent has ended. */
  onClose?(session: AgentSession): void;
  /** All sessions are closed, and the process is about to exit: resolves when nothing is left to write. */
  end?(): Promise<void>;
}

/** Notes in each session what is set in it, and whether it is used for more than that. */
export const settingsObserver: SessionObserver = {
  onOpen({ owner }, { method }, result, isRestored) {
    // A session may be used already if its agent has spoken of it before.
    if (method === 'session/new') owner.isUnused ??= true;
    // What a session begins with while it is restored is not what was set last, and a new one begins as any other.
    else if (!isRestored) owner.settings.readResult(result);
  },

  onCall({ owner }, call) {
    if (isSetter(call.method)) owner.settings.readCall(call);
    else if (call.method !== 'session/cancel') owner.isUnused = false;
  },

  onAnswer({ owner }, method, answer) {
    if (isSetter(method)) owner.settings.readAnswer(answer);
  },

  onUpdate({ owner }, kind, update) {
    if (owner.state !== 'restoring') owner.settings.readUpdate(kind, update);
  },
};
