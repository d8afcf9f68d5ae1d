/** Where the user writes: sends, or stops what goes on. What was typed stays until it is sent. */
import { button, el } from './dom';
import { textOf, type Fields } from './fields';
import { PromptImages } from './prompt-images';

export interface PromptActions {
  /** Sends content blocks of ACP, at least one: images, then the text. */
  send(prompt: readonly Fields[]): void;
  stop(): void;
}

/** A keyboard on the screen has no other key for a new line. `style.css` asks for the same. */
const isTouched = matchMedia('(pointer: coarse)');
/** What browsers tell of keys that an input method has taken. Source: UI Events, "keyCode". */
const composed = 229;

export class PromptBox {
  readonly element = el('form', { class: 'prompt' });
  readonly #input = el('textarea', {
    id: 'prompt',
    rows: '2',
    placeholder: 'Write to the agent',
    'aria-label': 'Prompt',
    'aria-describedby': 'prompt-keys',
  });
  readonly #images = new PromptImages(() => this.#show());
  readonly #send = el('button', { type: 'submit', class: 'main' }, 'Send');
  readonly #stop: HTMLButtonElement;
  #isReady = false;
  #isWorking = false;
  #takesImages = false;

  /** Nothing can be sent before `set`. */
  constructor(private readonly actions: PromptActions) {
    this.#stop = button('Stop', () => actions.stop(), 'stop');
    const keys = el('p', { id: 'prompt-keys', class: 'quiet' }, 'Enter sends, Shift+Enter makes a new line');
    const row = el('div', {}, this.#images.button, this.#input, this.#send, this.#stop);
    this.element.append(this.#images.element, row, keys);
    this.element.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#submit();
    });
    this.#input.addEventListener('keydown', (event) => this.#press(event));
    this.#input.addEventListener('paste', (event) => this.#take(event, event.clipboardData));
    this.element.addEventListener('dragover', (event) => {
      if (event.dataTransfer?.types.includes('Files') === true) event.preventDefault();
    });
    this.element.addEventListener('drop', (event) => this.#take(event, event.dataTransfer));
    this.#show();
  }

  /** `isReady`: something can be sent; `isWorking`: a turn is open, which can be stopped. */
  set(isReady: boolean, isWorking: boolean, takesImages: boolean): void {
    const hadFocus = this.element.contains(document.activeElement);
    this.#isReady = isReady;
    this.#isWorking = isWorking;
    this.#takesImages = takesImages;
    this.#show();
    if (hadFocus && !this.element.contains(document.activeElement)) this.#input.focus();
  }

  focus(): void {
    this.#input.focus();
  }

  /** Puts back what could not be sent, unless something else stands there by now. */
  putBack(prompt: readonly Fields[]): void {
    if (this.#input.value !== '' || this.#images.blocks.length > 0) return;
    this.#input.value = textOf(prompt.at(-1)?.text) ?? '';
    this.#images.set(prompt.filter(({ type }) => type === 'image'));
  }

  #show(): void {
    this.#images.button.hidden = !this.#takesImages;
    this.#send.hidden = this.#isWorking;
    this.#send.disabled = !this.#isReady || this.#images.isReading;
    this.#stop.hidden = !this.#isWorking;
    this.#stop.disabled = !this.#isReady;
  }

  #press(event: KeyboardEvent): void {
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- Safari says it in no other way
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing || event.keyCode === composed) return;
    if (isTouched.matches && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.#submit();
  }

  /** What is pasted or dropped; text that comes with an image is what was meant. */
  #take(event: Event, data: DataTransfer | null): void {
    const files = [...(data?.files ?? [])];
    if (files.length === 0 || data?.types.includes('text/plain') === true) return;
    event.preventDefault();
    if (this.#takesImages) void this.#images.add(files);
  }

  #submit(): void {
    const text = this.#input.value.trim();
    const prompt = [...this.#images.blocks, ...(text === '' ? [] : [{ type: 'text', text }])];
    if (prompt.length === 0 || this.#send.disabled || this.#isWorking) return;
    this.#input.value = '';
    this.#images.set([]);
    this.actions.send(prompt);
  }
}
