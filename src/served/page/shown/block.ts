/** Content blocks of ACP. Source: ACP v1, "Content". */
import { el, quote, wide } from '../dom';
import { fieldsOf, textOf, type Fields } from '../fields';
import { textView } from './text-view';

/** Of images that every browser shows and agents take. */
export const imageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

/** What a block has as text; undefined: it is something else. */
export function textOfBlock(block: Fields): string | undefined {
  return block.type === 'text' ? (textOf(block.text) ?? '') : undefined;
}

/** A block that is shown whole. Addresses are no links: an agent has chosen them. */
export function blockView(block: Fields): HTMLElement {
  const text = textOfBlock(block);
  if (text !== undefined) return textView(text);
  const kind = textOf(block.type) ?? 'something';
  if (kind === 'image' && imageTypes.includes(textOf(block.mimeType) ?? ''))
    return el('img', {
      src: `data:${String(block.mimeType)};base64,${textOf(block.data) ?? ''}`,
      alt: 'image',
    });
  const resource = kind === 'resource' ? fieldsOf(block.resource) : block;
  const name = textOf(resource.name) ?? textOf(resource.title);
  const head = el(
    'p',
    { class: 'resource' },
    quote([name, textOf(resource.uri) ?? kind].filter(Boolean).join(' · ')),
  );
  const content = textOf(resource.text);
  return el('div', {}, head, content === undefined ? undefined : wide('Content', {}, content));
}
