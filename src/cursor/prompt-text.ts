/** A prompt of ACP as the text that Cursor's command line takes. */
import { fileURLToPath } from 'node:url';
import { RequestError, type ContentBlock } from '@agentclientprotocol/sdk';
import { beginning } from './output/shapes';
import { fenceFor } from './output/tools';

/** Fails with -32602 for what the adapter does not offer: images and sound. */
export function promptText(blocks: readonly ContentBlock[]): string {
  return blocks.map(textOf).join('\n\n');
}

/** The first line of a prompt, for a list of sessions. */
export function titleOf(blocks: readonly ContentBlock[]): string {
  const texts = blocks.flatMap((block) => (block.type === 'text' ? [block.text.trim()] : []));
  return beginning((texts.find((text) => text !== '') ?? 'Untitled').split('\n')[0]!, 80);
}

function textOf(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'resource_link':
      return `${block.title ?? block.name}: ${placeOf(block.uri)}`;
    case 'resource':
      return resourceText(block.resource);
    default:
      throw new RequestError(
        -32602,
        `cai-cursor takes no content of type "${block.type}", as its capabilities say: Cursor's command line has no place for it`,
      );
  }
}

function resourceText(resource: Extract<ContentBlock, { type: 'resource' }>['resource']): string {
  const place = placeOf(resource.uri);
  if (!('text' in resource)) return `A file that is not text: ${place}`;
  const fence = fenceFor(resource.text);
  return `${place}:\n${fence}\n${resource.text}\n${fence}`;
}

/** A file of this machine as Cursor mentions it; everything else as it is. */
function placeOf(uri: string): string {
  try {
    return `@${fileURLToPath(uri)}`;
  } catch {
    return uri;
  }
}
