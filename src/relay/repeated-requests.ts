/** The requests that are repeated to later children: sign-ins, and the choice of providers. */

/** One of them. Held in memory only: params may be secret. */
export interface Repeat {
  /** Its method. */
  readonly method: string;
  /** Its params, JSON text. */
  readonly params: string | undefined;
}

/** How many requests are repeated to a new child: more than there are sign-ins and providers. */
const maxRepeats = 100;

/** Those of one proxy, in the order in which a new child gets them. */
export class Repeats {
  readonly #repeats: Repeat[] = [];

  /** All of them, as they are now. */
  all(): Repeat[] {
    return [...this.#repeats];
  }

  /** Whether a new child is still sent this one, which `all` has given. */
  has(repeat: Repeat): boolean {
    return this.#repeats.includes(repeat);
  }

  /** Children that start from now on are sent this request too, after those before it. */
  remember(repeat: Repeat): void {
    this.forget(repeat);
    this.#repeats.push(repeat);
    if (this.#repeats.length > maxRepeats) this.#repeats.shift();
  }

  /** Later children are not sent this request. */
  forget(repeat: Repeat): void {
    const index = this.#repeats.findIndex((known) => isSame(known, repeat));
    if (index >= 0) this.#repeats.splice(index, 1);
  }

  /** Later children are sent none of the requests so far; returns these. */
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
