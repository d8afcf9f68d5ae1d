/** The tokens that somebody whom a proxy has signed in makes for programs, such as `cai connect`. */
import { button, byId, el, quote } from './dom';
import { endToken, newToken, reasonText, type OwnToken } from './server';

export class TokenList {
  /** `changed`: there is one more or less. */
  constructor(private readonly changed: () => void) {
    byId('new-token').addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#make();
    });
  }

  /** undefined: who is signed in makes none. */
  show(tokens: readonly OwnToken[] | undefined): void {
    byId('tokens').hidden = tokens === undefined;
    byId('token-list').replaceChildren(...(tokens ?? []).map((token) => this.#line(token)));
  }

  #line({ label, created, expires, used }: OwnToken): HTMLElement {
    const times = `made ${day(created)}, used ${used === undefined ? 'never' : day(used)}, ends ${day(expires)}`;
    const end = button('End', () => void this.#tries(() => endToken(label)));
    return el('li', {}, el('span', {}, quote(label), el('small', {}, times)), end);
  }

  async #make(): Promise<void> {
    const input = byId('token-name') as HTMLInputElement;
    await this.#tries(async () => {
      const token = await newToken(input.value.trim());
      input.value = '';
      const copy = button('Copy', () => void navigator.clipboard.writeText(token));
      byId('token-made').append(
        'This is shown once. Keep it in a file, for cai connect --token-file:',
        el('pre', {}, token),
        copy,
      );
    });
  }

  async #tries(change: () => Promise<void>): Promise<void> {
    const problem = byId('token-problem');
    problem.hidden = true;
    byId('token-made').replaceChildren();
    try {
      await change();
    } catch (reason) {
      problem.textContent = reasonText(reason);
      problem.hidden = false;
    }
    this.changed();
  }
}

/** As the server counts days. */
function day(time: string): string {
  return new Date(time).toLocaleDateString(undefined, { timeZone: 'UTC' });
}
