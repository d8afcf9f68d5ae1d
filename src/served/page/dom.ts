/** Makes elements. All text goes in as text, so that nothing an agent says can become anything else. */
import { shown } from './fields';

/** What an element can have in it; undefined: nothing. */
export type Child = Node | string | undefined;

/** An element with attributes (`true`: without a value; `false` and undefined: not there) and children. */
export function el<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string | boolean | undefined>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined && value !== false) element.setAttribute(name, value === true ? '' : value);
  element.append(...children.flatMap((child) => (child === undefined ? [] : [asNode(child)])));
  return element;
}

/** A text that may be wider than the page: the keyboard reaches it, to move it. `name`: what it is. */
export function wide(
  name: string,
  attributes: Readonly<Record<string, string | undefined>>,
  ...children: readonly Child[]
): HTMLPreElement {
  return el('pre', { ...attributes, tabindex: '0', role: 'group', 'aria-label': name }, ...children);
}

export function button(label: string, action: () => void, kind = ''): HTMLButtonElement {
  const made = el('button', { type: 'button', class: kind }, label);
  made.addEventListener('click', action);
  return made;
}

/** Somebody else's words in the midst of ours. */
export function quote(text: string): HTMLElement {
  return el('bdi', {}, text);
}

/** An element of `index.html`. */
export function byId(id: string): HTMLElement {
  return document.getElementById(id)!;
}

function asNode(child: Node | string): Node {
  return typeof child === 'string' ? document.createTextNode(shown(child)) : child;
}
