/** Modes and options of a session as selects, and what it has used. Source: ACP v1, "Session Config Options", "Session Modes". */
import { button, el, quote } from './dom';
import { fieldsOf, listOf, numberOf, shown, textOf, type Fields } from './fields';

/** Sends a change; the answer, or an update, tells what holds then. */
type Change = (method: string, params: Fields) => void;

/** So many stand side by side on a phone. */
const fewFields = 2;

export class Settings {
  readonly element = el('div', { class: 'settings', hidden: true });
  /** How much of the agent's context is used, and what it has cost. */
  readonly usage = el('span', { class: 'usage' });
  readonly #fields = el('div', { class: 'fields' });
  readonly #toggle = button('', () => this.#fold(!this.#isFolded), 'fold');
  #isFolded = true;
  readonly #latest = new Map<unknown, Fields>();
  #options: readonly Fields[] = [];
  #modes: Fields = {};

  /** `change` sends one. */
  constructor(private readonly change: Change) {
    this.element.append(this.#toggle, this.#fields);
    this.#fold(true);
  }

  /** The answer to a call that has opened the session, or has changed an option. */
  answered({ configOptions, modes }: Fields): void {
    if (Array.isArray(configOptions)) this.#options = listOf(configOptions);
    if (modes !== undefined) this.#modes = fieldsOf(modes);
    this.#draw();
  }

  /**
   * The answer to a call that has joined a session which is open elsewhere: it tells what held when that was opened, and
   * updates that came before the answer tell what holds now.
   */
  joined(answer: Fields): void {
    const since = [...this.#latest.values()];
    this.answered(answer);
    for (const update of since) this.updated(update);
  }

  /** All is told again. */
  clear(): void {
    this.#latest.clear();
  }

  /** A `session/update` about them. */
  updated(update: Fields): void {
    this.#latest.set(update.sessionUpdate, update);
    if (update.sessionUpdate === 'config_option_update') this.answered(update);
    else if (update.sessionUpdate === 'current_mode_update') {
      this.#modes = { ...this.#modes, currentModeId: update.currentModeId };
      this.#draw();
    } else if (update.sessionUpdate === 'usage_update') this.#showUsage(update);
  }

  /** Where an agent has options, its modes are one of them. */
  #draw(): void {
    const fields =
      this.#options.length > 0 ? this.#options.map((each) => this.#option(each)) : [this.#modeSelect()];
    const focused = document.activeElement?.getAttribute('data-setting');
    const all = fields.flatMap((each) => each ?? []);
    this.#fields.replaceChildren(...all);
    this.element.hidden = all.length === 0;
    this.element.toggleAttribute('data-many', all.length > fewFields);
    const chosen = [...this.#fields.querySelectorAll('select')].map((each) => each.selectedOptions[0]?.label);
    this.#toggle.replaceChildren(
      'Settings',
      ...chosen.flatMap((each) => (each === undefined ? [] : [' · ', quote(each)])),
    );
    if (focused === null || focused === undefined) return;
    for (const each of this.element.querySelectorAll<HTMLElement>('[data-setting]'))
      if (each.dataset.setting === focused) each.focus();
  }

  /** Where the screen is narrow, many fields leave no room for a permission, so they are folded until they are wanted. */
  #fold(isFolded: boolean): void {
    this.#isFolded = isFolded;
    this.element.toggleAttribute('data-folded', isFolded);
    this.#toggle.setAttribute('aria-expanded', String(!isFolded));
  }

  #option(option: Fields): HTMLElement {
    const configId = textOf(option.id) ?? '';
    const name = textOf(option.name) ?? configId;
    if (option.type === 'boolean') {
      const box = el('input', { type: 'checkbox', 'data-setting': configId });
      box.checked = option.currentValue === true;
      box.addEventListener('change', () =>
        this.change('session/set_config_option', { configId, type: 'boolean', value: box.checked }),
      );
      return el('label', { class: 'check' }, box, name);
    }
    const choices = listOf(option.options).map((each) =>
      Array.isArray(each.options)
        ? el('optgroup', { label: shown(textOf(each.name) ?? '') }, ...listOf(each.options).map(choice))
        : choice(each),
    );
    return select(configId, name, choices, textOf(option.currentValue), (value) =>
      this.change('session/set_config_option', { configId, value }),
    );
  }

  #modeSelect(): HTMLElement | undefined {
    const modes = listOf(this.#modes.availableModes);
    if (modes.length === 0) return undefined;
    const choices = modes.map(({ id, name }) => choice({ value: id, name }));
    return select('mode', 'Mode', choices, textOf(this.#modes.currentModeId), (modeId) =>
      this.change('session/set_mode', { modeId }),
    );
  }

  #showUsage({ used, size, cost }: Fields): void {
    const { amount, currency } = fieldsOf(cost);
    const [tokens, all, money] = [numberOf(used), numberOf(size), numberOf(amount)];
    const share =
      tokens === undefined || !all ? undefined : `${Math.round((100 * tokens) / all)} % of context`;
    const price = money === undefined ? undefined : `${money.toFixed(2)} ${textOf(currency) ?? ''}`;
    this.usage.replaceChildren(
      el('span', {}, [share, price].filter((each) => each !== undefined).join(' · ')),
    );
  }
}

function choice({ value, name }: Fields): HTMLOptionElement {
  const text = textOf(value) ?? '';
  return el('option', { value: text }, textOf(name) ?? text);
}

function select(
  id: string,
  label: string,
  choices: readonly HTMLElement[],
  value: string | undefined,
  change: (value: string) => void,
): HTMLElement {
  const made = el('select', { 'data-setting': id }, ...choices);
  if (value !== undefined) made.value = value;
  made.addEventListener('change', () => change(made.value));
  return el('label', {}, el('span', {}, label), made);
}
