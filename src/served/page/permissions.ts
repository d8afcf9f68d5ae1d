/** Cards that ask for permissions, one for each request. */
import type { Id } from './acp-client';
import { button, el, quote } from './dom';
import { fieldsOf, isOurs, listOf, textOf, type Fields } from './fields';
import { ToolView } from './shown/tool-view';

export interface PermissionPorts {
  /** The user says it; undefined: the turn is stopped. */
  answer(id: Id, optionId: string | undefined): void;
  /** A card shows that tool call, or shows it no more. */
  shows(toolCallId: string, isShown: boolean): void;
  /** What was told of that tool call before. */
  known(toolCallId: string): Fields;
}

const optionKinds = ['allow_once', 'allow_always', 'reject_once', 'reject_always'];

export class Permissions {
  readonly element = el('div', { class: 'permissions', 'aria-live': 'assertive' });
  readonly #cards = new Map<Id, { readonly card: HTMLElement; readonly toolCallId: string }>();

  constructor(private readonly ports: PermissionPorts) {}

  /** Whether the user is asked for something. */
  get areAsked(): boolean {
    return this.#cards.size > 0;
  }

  /** Shows the params of a request. The options are the agent's. */
  ask(id: Id, params: Fields): void {
    const { toolCall, options } = params;
    const call = fieldsOf(toolCall);
    const toolCallId = textOf(call.toolCallId) ?? '';
    const view = new ToolView();
    // A request may have the id alone.
    view.update(this.ports.known(toolCallId));
    view.update(call);
    view.element.open = true;
    const buttons = listOf(options).map(({ optionId, name, kind }) => {
      const optionText = textOf(optionId) ?? '';
      const known = optionKinds.find((each) => each === kind) ?? '';
      const made = button('', () => this.#choose(id, optionText), `option ${known}`);
      made.append(quote(textOf(name) ?? optionText));
      return made;
    });
    const card = el(
      'section',
      { class: 'card', 'aria-label': 'Permission' },
      el('h3', {}, `${isOurs(params) ? 'cai' : 'The agent'} asks for permission`),
      view.element,
      el('div', { class: 'buttons' }, ...buttons),
    );
    this.remove(id);
    this.#cards.set(id, { card, toolCallId });
    this.element.append(card);
    this.ports.shows(toolCallId, true);
  }

  /** Takes one away; false: there is none of that id. */
  remove(id: Id): boolean {
    const known = this.#cards.get(id);
    if (known === undefined) return false;
    this.#cards.delete(id);
    known.card.remove();
    this.ports.shows(known.toolCallId, false);
    return true;
  }

  /** The turn is stopped. Source: ACP v1, "Cancellation". */
  cancelAll(): void {
    for (const id of this.#cards.keys()) this.#choose(id, undefined);
  }

  /** What was asked on a connection that is lost is asked again on the next. */
  clear(): void {
    for (const id of this.#cards.keys()) this.remove(id);
  }

  #choose(id: Id, optionId: string | undefined): void {
    this.remove(id);
    this.ports.answer(id, optionId);
  }
}
