/** Where the user writes: sends, or stops what goes on. What was typed stays until it is sent. */
import { button, el } from './dom';

export interface PromptActions {
  /** Sends a text that is not blank. */
  send(text: string): void;
  stop(): void;
}

export class PromptBox {
  /** Where it is shown. */
  readonly element = el('form', { class: 'prompt' });
  readonly #input = el('textarea', {
    id: 'prompt',
    rows: '2',
    placeholder: 'Write to the agent',
    'aria-label': 'Prompt',
    'aria-keyshortcuts': 'Control+Enter Meta+Enter',
  });
  readonly #send = el('button', { type: 'submit', class: 'main' }, 'Send');
  readonly #stop: HTMLButtonElement;
  #isReady = false;
  #isWorking = false;

  /** Nothing can be sent before `set`. */
  constructor(private readonly actions: PromptActions) {
    this.#stop = button('Stop', () => actions.stop(), 'stop');
    this.element.append(this.#input, this.#send, this.#stop);
    this.element.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#submit();
    });
    this.#input.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) this.#submit();
    });
    this.#show();
  }

  /** `isReady`: something can be sent; `isWorking`: a turn is open, which can be stopped. */
  set(isReady: boolean, isWorking: boolean): void {
    const hadFocus = this.element.contains(document.activeElement);
    this.#isReady = isReady;
    this.#isWorking = isWorking;
    this.#show();
    if (hadFocus && !this.element.contains(document.activeElement)) this.#input.focus();
  }

  /** The user can write at once. */
  focus(): void {
    this.#input.focus();
  }

  /** Puts back what could not be sent, unless something else stands there by now. */
  putBack(text: string): void {
    if (this.#input.value === '') this.#input.value = text;
  }

  #show(): void {
    this.#send.hidden = this.#isWorking;
    this.#send.disabled = !this.#isReady;
    this.#stop.hidden = !this.#isWorking;
    this.#stop.disabled = !this.#isReady;
  }

  #submit(): void {
    const text = this.#input.value.trim();
    if (text === '' || !this.#isReady || this.#isWorking) return;
    this.#input.value = '';
    this.actions.send(text);
  }
}
