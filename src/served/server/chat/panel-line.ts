/** What an agent says, as a line for a panel. `docs/serve.md` has the lines. */
import type { JsonObject } from '../../../rpc/json';

/** Blocks that are lines themselves. Any other could have the type of a line of ours. */
const shownBlocks: ReadonlySet<unknown> = new Set(['image', 'audio', 'resource', 'resource_link']);
/** Updates that have a shorter name as a line, with all their fields. */
const shortNames = new Map<unknown, string>([
  ['tool_call', 'tool'],
  ['tool_call_update', 'tool'],
  ['plan', 'plan'],
]);

/** The line for an update of ACP: an update without such a line is passed on as it is. */
export function panelLine(update: JsonObject): JsonObject {
  const { sessionUpdate } = update;
  // As an agent has written it, which can be anything.
  const block = (update.content ?? {}) as JsonObject;
  const isText = block.type === 'text' && typeof block.text === 'string';
  if (sessionUpdate === 'agent_message_chunk') {
    if (isText) return { type: 'text', content: block.text };
    if (shownBlocks.has(block.type)) return block;
  }
  if (sessionUpdate === 'agent_thought_chunk' && isText) return { type: 'thought', content: block.text };
  const type = shortNames.get(sessionUpdate);
  return type === undefined ? { type: 'update', update } : { ...update, type };
}
