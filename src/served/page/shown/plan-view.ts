/** The agent's plan. Source: ACP v1, "Agent Plan". */
import { el, quote } from '../dom';
import { listOf, textOf, type Fields } from '../fields';

const marks: Readonly<Record<string, string>> = { completed: '✓', in_progress: '▸', pending: '·' };
const words: Readonly<Record<string, string>> = { completed: 'done: ', in_progress: 'now: ', pending: '' };

/** One plan, replaced whole by each update. */
export class PlanView {
  readonly element = el('section', { class: 'item plan', 'aria-label': 'Plan' });

  /** What a `plan` says. */
  update({ entries }: Fields): void {
    const rows = listOf(entries).map(({ content, status }) => {
      const state = textOf(status) ?? 'pending';
      return el(
        'li',
        { 'data-state': state },
        el('span', { class: 'mark', 'aria-hidden': 'true' }, marks[state] ?? '·'),
        el('span', { class: 'heard' }, words[state] ?? ''),
        quote(textOf(content) ?? ''),
      );
    });
    this.element.replaceChildren(el('h3', {}, 'Plan'), el('ul', {}, ...rows));
  }
}
