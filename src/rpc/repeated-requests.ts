/** The requests that a later agent gets again: sign-ins, and the choice of providers. */

/** A request that is repeated. It is in memory only: params may be secret. */
export interface Repeat {
  readonly method: string;
  readonly params: string | undefined;
  /** It has succeeded: only then is it repeated. */
  hasSucceeded?: boolean;
}

/** How many requests are repeated: more than there are sign-ins and providers. */
const maxRepeats = 100;

/** The repeated requests of one editor, in the order in which a later agent gets them. */
export class Repeats {
  #repeats: Repeat[] = [];

  all(): Repeat[] {
    return [...this.#repeats];
  }

  /** The first request from `among` that has succeeded and is still to be repeated. */
  nextOf(among: ReadonlySet<Repeat>): Repeat | undefined {
    return this.#repeats.find((repeat) => repeat.hasSucceeded === true && among.has(repeat));
  }

  /** Later agents get this request too, after the earlier ones, once it has succeeded. */
  remember(repeat: Repeat): void {
    const known = this.#repeats.find((each) => isSame(each, repeat));
    this.forget(repeat);
    repeat.hasSucceeded = known?.hasSucceeded === true;
    this.#repeats.push(repeat);
    if (this.#repeats.length > maxRepeats) this.#repeats.shift();
  }

  /** It has succeeded. Returns whether it is still to be repeated. */
  confirm(repeat: Repeat): boolean {
    repeat.hasSucceeded = true;
    return this.#repeats.includes(repeat);
  }

  /** Later agents do not get this request. */
  forget(repeat: Repeat): void {
    this.#repeats = this.#repeats.filter((known) => !isSame(known, repeat));
  }

  /** Later agents get none of the requests so far, which are returned. */
  forgetAll(): readonly Repeat[] {
    return this.#repeats.splice(0);
  }

  restore(repeats: readonly Repeat[]): void {
    this.#repeats.unshift(...repeats);
  }
}

function isSame(one: Repeat, other: Repeat): boolean {
  return one.method === other.method && one.params === other.params;
}
