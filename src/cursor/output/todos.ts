/** Cursor's list of things to do, as a plan of ACP. */
import { beginning, firstText, listOf, shapeOf } from './shapes';

export interface PlanEntry {
  readonly content: string;
  /** Cursor knows none. */
  readonly priority: 'medium';
  /** ACP has no word for what was dropped: that is `completed`. */
  readonly status: 'pending' | 'in_progress' | 'completed';
}

/** How many things are kept of a list, and how much of the text of each, in characters. */
const maxTodos = 200;
const maxLength = 2_000;

export class Todos {
  #entries = new Map<string, PlanEntry>();

  /**
   * Takes an update, and returns the whole plan. `merge`: it names only what has changed. The words of both the command
   * line (`TODO_STATUS_PENDING`) and the ACP extension (`pending`) are read; what has no text changes only the status.
   */
  update(todos: unknown, merge: boolean): PlanEntry[] {
    if (!merge) this.#entries = new Map();
    for (const [index, each] of listOf(todos).slice(0, maxTodos).entries()) {
      const { id, content, status } = shapeOf(each);
      const key = firstText(id) ?? `#${index}`;
      const known = this.#entries.get(key);
      const text = (firstText(content) && beginning(content as string, maxLength)) ?? known?.content;
      if (text === undefined || (known === undefined && this.#entries.size >= maxTodos)) continue;
      this.#entries.set(key, {
        content: text,
        priority: 'medium',
        status: statusOf(status) ?? known?.status ?? 'pending',
      });
    }
    return [...this.#entries.values()];
  }
}

function statusOf(value: unknown): PlanEntry['status'] | undefined {
  const word = firstText(value)
    ?.toLowerCase()
    .replace(/^todo_status_/, '');
  if (word === 'cancelled' || word === 'completed') return 'completed';
  return word === 'pending' || word === 'in_progress' ? word : undefined;
}
