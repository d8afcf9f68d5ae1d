/** The requests that a later agent gets again: sign-ins, and the choice of providers. */

/** A request that is repeated. It is in memory only: params may be secret. */
export interface Repeat {
  readonly method: string;
  /** Its params, JSON text. */
  readonly params: string | undefined;
}

/** How many requests are repeated: more than there are sign-ins and providers. */
const maxRepeats = 100;

/** The repeated requests of one editor, in the order in which a later agent gets them. */
export class Repeats {
  #repeats: Repeat[] = [];

  /** A copy of the list as it is now. */
  all(): Repeat[] {
    return [...this.#repeats];
  }

  /** Whether a request from `all` is still to be repeated. */
  has(repeat: Repeat): boolean {
    return this.#repeats.includes(repeat);
  }

  /** Later agents get this request too, after the earlier ones. */
  remember(repeat: Repeat): void {
    this.forget(repeat);
    this.#repeats.push(repeat);
    if (this.#repeats.length > maxRepeats) this.#repeats.shift();
  }

  /** Later agents do not get this request. */
  forget({ method, params }: Repeat): void {
    this.#repeats = this.#repeats.filter((known) => known.method !== method || known.params !== params);
  }

  /** Later agents get none of the requests so far, which are returned. */
  forgetAll(): readonly Repeat[] {
    return this.#repeats.splice(0);
  }

  /** Takes a `forgetAll` back. */
  restore(repeats: readonly Repeat[]): void {
    this.#repeats.unshift(...repeats);
  }
}
