/** The ids that a client has named or was told, of which it can name any number, of any length. */

/** Longer ones are not remembered. */
const maxLength = 1_024;
/** So many are remembered, the latest. */
const maxCount = 10_000;

/** One client's. */
export class KnownIds {
  readonly #ids = new Set<string>();

  /** Whether it is one of them. */
  has(id: string): boolean {
    return this.#ids.has(id);
  }

  /** Remembers one. */
  add(id: string): void {
    if (id.length > maxLength || this.#ids.has(id)) return;
    this.#ids.add(id);
    if (this.#ids.size > maxCount) this.#ids.delete(this.#ids.values().next().value!);
  }

  /** Forgets one. False: it was none of them. */
  delete(id: string): boolean {
    return this.#ids.delete(id);
  }
}
