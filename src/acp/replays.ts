/** The requests that later children have to be sent too: sign-ins, and the choice of providers. */

/** One of them. Held in memory only: params may be secret. */
export interface Replay {
  /** Its method. */
  readonly method: string;
  /** Its params, JSON text. */
  readonly params: string | undefined;
}

/** How many requests are repeated to a new child: more than there are sign-ins and providers. */
const maxReplays = 100;

/** Those of one proxy, in the order in which a new child gets them. */
export class Replays {
  readonly #replays: Replay[] = [];

  /** All of them, as they are now. */
  all(): Replay[] {
    return [...this.#replays];
  }

  /** Whether a new child is still sent this one, which `all` has given. */
  has(replay: Replay): boolean {
    return this.#replays.includes(replay);
  }

  /** Children that start from now on are sent this request too, after those before it. */
  remember(replay: Replay): void {
    this.forget(replay);
    this.#replays.push(replay);
    if (this.#replays.length > maxReplays) this.#replays.shift();
  }

  /** Later children are not sent this request. */
  forget(replay: Replay): void {
    const index = this.#replays.findIndex((known) => isSame(known, replay));
    if (index >= 0) this.#replays.splice(index, 1);
  }

  /** Later children are sent none of the requests so far; returns these. */
  forgetAll(): readonly Replay[] {
    return this.#replays.splice(0);
  }

  /** Takes a `forgetAll` back. */
  restore(replays: readonly Replay[]): void {
    this.#replays.unshift(...replays);
  }
}

function isSame(a: Replay, b: Replay): boolean {
  return a.method === b.method && a.params === b.params;
}
