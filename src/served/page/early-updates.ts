/** What the agent says of sessions that it is just making, until they are shown. */
import { textOf, type Fields } from './fields';

/** So many are kept, the latest: an agent may speak of any number of sessions. */
const maxKept = 500;

export class EarlyUpdates {
  #kept: Fields[] = [];
  /** Calls that make sessions. */
  #open = 0;

  /** The answer to a call that makes a session. */
  async during(call: Promise<Fields>): Promise<Fields> {
    this.#open++;
    try {
      return await call;
    } finally {
      this.#open--;
    }
  }

  /** The params of a `session/update` about a session that is not shown. */
  add(params: Fields): void {
    if (this.#open === 0) return;
    this.#kept.push(params);
    if (this.#kept.length > maxKept) this.#kept.shift();
  }

  /** The updates of a session that is shown from now on. */
  take(id: string): Fields[] {
    const taken = this.#kept.filter(({ sessionId }) => textOf(sessionId) === id);
    this.#kept = this.#open === 0 ? [] : this.#kept.filter((each) => !taken.includes(each));
    return taken;
  }

  clear(): void {
    this.#kept = [];
  }
}
