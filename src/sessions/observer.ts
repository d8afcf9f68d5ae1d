/** Those who follow sessions without a part in what is passed on: titles, usage, what a crash must not lose. */
import { bodyOf, stringOf } from '../rpc/message';
import type { Message } from '../rpc/message';
import type { JsonObject, Session } from '../child/workspace-child';

/**
 * Each is called in the order of the wire, before the line is queued, with the message as it came from its
 * sender. It must neither throw nor keep a message, whose bytes are those of a whole chunk.
 */
export interface SessionObserver {
  /**
   * `request` of the editor has opened it: new, load, resume or fork; `result` is the agent's. Other calls may
   * come before, and so may updates. `before`: what was open under its id, or was lost.
   */
  onOpen?(session: Session, request: Message, result: Message, before?: Session): void;
  /** A call of the editor is sent to its agent. */
  onCall?(session: Session, call: Message): void;
  /** Its agent has answered a request of the editor, with a result or an error. */
  onAnswer?(session: Session, method: string, answer: Message): void;
  /** Its agent has ended without an answer to a request of the editor. */
  onLost?(session: Session, call: Message): void;
  /**
   * Its agent sends a `session/update` that is no message chunk; `kind` is the value of `sessionUpdate`, empty if it
   * has none.
   */
  onUpdate?(session: Session, kind: string, update: Message): void;
  /** It is open no longer: closed, deleted, or its agent has ended. */
  onClose?(session: Session): void;
  /** All sessions are closed, and the process is about to exit: resolves when nothing is left to write. */
  end?(): Promise<void>;
}

/** `update` of a `session/update`, parsed; empty where there is none. */
export function updateOf(message: Message): JsonObject {
  const params = bodyOf(message) as { readonly update?: JsonObject | null } | null | undefined;
  return params?.update ?? {};
}

/** Value of `sessionUpdate`, the kind of a `session/update`; empty for what has none. */
export function updateKindOf(message: Message): string {
  return stringOf(message, 'updateKind') ?? '';
}

const messageChunks = new Set(['agent_message_chunk', 'agent_thought_chunk', 'user_message_chunk']);

/**
 * Whether updates of that kind are chunks of messages. A turn has hundreds of them, and they are not observed.
 * Source: ACP v1, `SessionUpdate`.
 */
export function isMessageChunk(updateKind: string): boolean {
  return messageChunks.has(updateKind);
}
