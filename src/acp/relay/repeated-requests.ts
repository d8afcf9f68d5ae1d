/** The requests that every new child gets again: sign-ins, and the choice of providers. */

/** A request that is repeated. It is in memory only: params may be secret. */
export interface Repeat {
  readonly method: string;
  /** Its params, JSON text. */
  readonly params: string | undefined;
}

/** How many requests are repeated to a new child: more than there are sign-ins and providers. */
const maxRepeats = 100;

/** The repeated requests of one proxy, in the order in which a new child gets them. */
export class Repeats {
  readonly #repeats: Repeat[] = [];

  /** A copy of the list as it is now. */
  all(): Repeat[] {
    return [...this.#repeats];
  }

  /** Whether a request from `all` is still to be repeated. */
  has(repeat: Repeat): boolean {
    return this.#repeats.includes(repeat);
  }

  /** Later children get this request too, after the earlier ones. */
  remember(repeat: Repeat): void {
    this.forget(repeat);
    this.#repeats.push(repeat);
    if (this.#repeats.length > maxRepeats) this.#repeats.shift();
  }

  /** Later children do not get this request. */
  forget(repeat: Repeat): void {
    const index = this.#repeats.findIndex((known) => isSame(known, repeat));
    if (index >= 0) this.#repeats.splice(index, 1);
  }

  /** Later children get none of the requests so far, which are returned. */
  forgetAll(): readonly Repeat[] {
    return this.#repeats.splice(0);
  }

  /** Takes a `forgetAll` back. */
  restore(repeats: readonly Repeat[]): void {
    this.#repeats.unshift(...repeats);
  }
}

function isSame(a: Repeat, b: Repeat): boolean {
  return a.method === b.method && a.params === b.params;
}
