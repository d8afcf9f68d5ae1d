/** A text that grows: plain, with code between fences in boxes. Only ever added to. */
import { el, wide } from '../dom';
import { shown } from '../fields';
import { FenceReader, type Piece } from './fences';

/** Characters above which the next line begins a new block: browsers lay out a whole block for each change of it. */
const maxBlockLength = 4_000;

export class TextView {
  readonly element = el('div', { class: 'text' });
  readonly #reader = new FenceReader();
  #part: HTMLElement | undefined;
  #block: Text | undefined;
  #length = 0;

  push(text: string): void {
    for (const piece of this.#reader.push(text)) this.#show(piece);
  }

  end(): void {
    for (const piece of this.#reader.end()) this.#show(piece);
  }

  #show({ isCode, isNew, language, text }: Piece): void {
    if (isNew || this.#part === undefined) {
      this.#part = isCode
        ? wide('Code', { 'data-language': language === '' ? undefined : shown(language) })
        : el('div', { dir: 'auto' });
      this.element.append(this.#part);
      this.#block = undefined;
      this.#length = 0;
    }
    const lineEnd = this.#length > maxBlockLength ? text.indexOf('\n') + 1 : 0;
    this.#append(text.slice(0, lineEnd || undefined));
    if (lineEnd === 0) return;
    this.#block = undefined;
    if (lineEnd < text.length) this.#append(text.slice(lineEnd));
  }

  #append(text: string): void {
    if (this.#block === undefined) {
      this.#block = document.createTextNode('');
      this.#length = 0;
      this.#part!.append(el('div', {}, this.#block));
    }
    this.#block.appendData(shown(text));
    this.#length += text.length;
  }
}

export function textView(text: string): HTMLElement {
  const view = new TextView();
  view.push(text);
  view.end();
  return view.element;
}
