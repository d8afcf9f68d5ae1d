/** Reads `session/update`. */
import { bodyOf, stringOf, type Message } from '../../rpc/message';
import type { JsonObject } from '../../rpc/json';
import { objectOf } from '../../system/unless';

/** `update` of a `session/update`, parsed; empty where it is missing. */
export function updateOf(message: Message): JsonObject {
  return objectOf(objectOf(bodyOf(message)).update);
}

/** Value of `sessionUpdate`, the kind of a `session/update`; empty for what has no kind. */
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
