/** Images that go with a prompt: chosen, pasted, or dropped. */
import { button, el } from './dom';
import type { Fields } from './fields';
import { blockView, imageTypes } from './shown/block';

/** Of all images of one prompt, as base64: with the text they fit in a line of the default length. */
const maxLength = 48 * 2 ** 20;

export class PromptImages {
  /** Shows them, and what could not be added. */
  readonly element = el('div', { class: 'images', 'aria-live': 'polite' });
  /** Lets the user choose files. */
  readonly button = button('+', () => this.#input.click(), 'add');
  readonly #input = el('input', { type: 'file', accept: imageTypes.join(','), multiple: true, hidden: true });
  readonly #blocks = new Map<Fields, HTMLElement>();
  #reading = 0;

  /** `changed`: there are others, or the files of some are read by now. */
  constructor(private readonly changed: () => void) {
    this.button.setAttribute('aria-label', 'Add images');
    this.button.title = 'Add images';
    this.button.append(this.#input);
    this.#input.addEventListener('click', (event) => event.stopPropagation());
    this.#input.addEventListener('change', () => {
      void this.add([...(this.#input.files ?? [])]);
      this.#input.value = '';
    });
  }

  /** As content blocks of ACP. */
  get blocks(): readonly Fields[] {
    return [...this.#blocks.keys()];
  }

  /** Whether files are still being read. */
  get isReading(): boolean {
    return this.#reading > 0;
  }

  /** Adds images; the user is told of each file that is no image or of a kind that agents do not take. */
  async add(files: readonly File[]): Promise<void> {
    this.#tell();
    for (const file of files) {
      this.#reading++;
      this.changed();
      try {
        this.#addFile(file, imageTypes.includes(file.type) ? await base64Of(file) : undefined);
      } catch {
        this.#tell(`${file.name} cannot be read.`);
      }
      this.#reading--;
      this.changed();
    }
  }

  /** In the place of those that are there. */
  set(blocks: readonly Fields[]): void {
    for (const element of this.#blocks.values()) element.remove();
    this.#blocks.clear();
    for (const each of blocks) this.#show(each);
    this.#tell();
    this.changed();
  }

  #addFile({ name, type }: File, data: string | undefined): void {
    const length = this.blocks.reduce((sum, block) => sum + String(block.data).length, data?.length ?? 0);
    if (data === undefined) this.#tell(`${name} is not an image of type PNG, JPEG, GIF or WebP.`);
    else if (length > maxLength) this.#tell(`${name} is too large: all images may have 36 MiB.`);
    else this.#show({ type: 'image', mimeType: type, data });
  }

  #show(block: Fields): void {
    const remove = button('×', () => {
      this.#blocks.delete(block);
      shown.remove();
      this.changed();
    });
    remove.setAttribute('aria-label', 'Remove this image');
    const shown = el('span', {}, blockView(block), remove);
    this.#blocks.set(block, shown);
    this.element.append(shown);
  }

  #tell(problem?: string): void {
    this.element.querySelector('.error')?.remove();
    if (problem !== undefined) this.element.prepend(el('p', { class: 'error' }, problem));
  }
}

async function base64Of(file: File): Promise<string> {
  const reader = new FileReader();
  return await new Promise((resolve, reject) => {
    reader.addEventListener('load', () => {
      const url = reader.result as string;
      resolve(url.slice(url.indexOf(',') + 1));
    });
    reader.addEventListener('error', () => reject(new Error('the file cannot be read')));
    reader.readAsDataURL(file);
  });
}
