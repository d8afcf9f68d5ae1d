/** Cards that ask for permissions, one for each request. */
import type { Id } from './acp-client';
import { button, el, quote } from './dom';
import { fieldsOf, listOf, textOf, type Fields } from './fields';
import { ToolView } from './shown/tool-view';

/** What the user says; undefined: the turn is stopped. */
type Answer = (id: Id, optionId: string | undefined) => void;

export class Permissions {
  /** Where they are shown. */
  readonly element = el('div', { class: 'permissions', 'aria-live': 'assertive' });
  readonly #cards = new Map<Id, HTMLElement>();

  /** `answer` sends what the user says. */
  constructor(private readonly answer: Answer) {}

  /** Shows one. The options are the agent's. */
  ask(id: Id, { toolCall, options }: Fields): void {
    const call = fieldsOf(toolCall);
    const view = new ToolView();
    view.update(call);
    view.element.open = true;
    const buttons = listOf(options).map(({ optionId, name, kind }) => {
      const optionText = textOf(optionId) ?? '';
      const made = button(
        '',
        () => this.#choose(id, optionText),
        `option ${(textOf(kind) ?? '').startsWith('allow') ? 'allow' : ''}`,
      );
      made.append(quote(textOf(name) ?? optionText));
      return made;
    });
    const card = el(
      'section',
      { class: 'card', 'aria-label': 'Permission' },
      el('h3', {}, 'The agent asks for permission'),
      view.element,
      el('div', { class: 'buttons' }, ...buttons),
    );
    this.#cards.get(id)?.remove();
    this.#cards.set(id, card);
    this.element.append(card);
  }

  /** Takes one away; false: there is none of that id. */
  remove(id: Id): boolean {
    this.#cards.get(id)?.remove();
    return this.#cards.delete(id);
  }

  /** The turn is stopped. Source: ACP v1, "Cancellation". */
  cancelAll(): void {
    for (const id of this.#cards.keys()) this.#choose(id, undefined);
  }

  /** What was asked on a connection that is lost is asked again on the next. */
  clear(): void {
    this.#cards.clear();
    this.element.replaceChildren();
  }

  #choose(id: Id, optionId: string | undefined): void {
    this.remove(id);
    this.answer(id, optionId);
  }
}
