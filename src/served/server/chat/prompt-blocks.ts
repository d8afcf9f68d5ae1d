/** What a person says to an agent: a text, or content blocks of ACP. Source: ACP v1, `ContentBlock`, `PromptCapabilities`. */
import { offers } from '../../../rpc/protocol/capabilities';
import type { JsonObject } from '../../../rpc/json';
import { isObject } from '../../../system/unless';
import { HttpError } from '../http/http-error';

/** By type: texts that a block must have, and what an agent must offer to get it. All else in a block is passed on. */
export const blockTypes: Readonly<Record<string, { texts: readonly string[]; capability?: string }>> = {
  text: { texts: ['text'] },
  image: { texts: ['data', 'mimeType'], capability: 'image' },
  audio: { texts: ['data', 'mimeType'], capability: 'audio' },
  resource_link: { texts: ['name', 'uri'] },
  resource: { texts: [], capability: 'embeddedContext' },
};

/** The prompt that `message` of a body is; throws `HttpError` for what is no prompt. */
export function promptOf(message: unknown): readonly JsonObject[] {
  if (typeof message === 'string' && message !== '') return [{ type: 'text', text: message }];
  if (!Array.isArray(message) || message.length === 0)
    throw new HttpError(400, '"message" must be a text or a list of content blocks, and not be empty');
  message.forEach((block: unknown, index) => {
    const problem = problemOf(block);
    if (problem !== undefined) throw new HttpError(400, `block ${index + 1} of "message" ${problem}`);
  });
  return message as JsonObject[];
}

/** Throws for blocks that an agent with these `agentCapabilities` does not take. */
export function checkOffered(prompt: readonly JsonObject[], capabilities: JsonObject): void {
  for (const { type } of prompt) {
    const { capability } = blockTypes[type as string]!;
    if (capability !== undefined && !offers(capabilities, `promptCapabilities.${capability}`))
      throw new Error(
        `the agent takes no blocks of the type "${String(type)}": send a text or a resource_link`,
      );
  }
}

function problemOf(block: unknown): string | undefined {
  if (!isObject(block)) return 'is no object';
  const { type, resource } = block;
  if (typeof type !== 'string' || !Object.hasOwn(blockTypes, type))
    return `has another "type" than ${Object.keys(blockTypes).join(', ')}`;
  const missing = blockTypes[type]!.texts.find((name) => typeof block[name] !== 'string');
  if (missing !== undefined) return `is of the type "${type}" and has no text "${missing}"`;
  if (type !== 'resource' || isResource(resource)) return undefined;
  return 'has no "resource" with the text "uri" and the text "text" or "blob"';
}

function isResource(value: unknown): boolean {
  if (!isObject(value) || typeof value.uri !== 'string') return false;
  return typeof value.text === 'string' || typeof value.blob === 'string';
}
