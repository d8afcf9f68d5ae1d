/** The waits between attempts to connect, in milliseconds: a first is made at once, the waits double up to the most. */
const minWaitMs = 250;
const maxWaitMs = 15_000;
/** For so long after its predecessor a connection has to last before it is trusted. */
const steadyMs = 2 * maxWaitMs;

export class BackOff {
  #attempt = 0;
  #steadyAt = 0;

  /** `now`: in milliseconds; `random`: between 0 and 1. */
  constructor(
    private readonly now = () => performance.now(),
    private readonly random = Math.random,
  ) {}

  /** Attempts were made, and nothing has come through since. */
  get isTrying(): boolean {
    return this.#attempt > 0;
  }

  /** The wait before the next attempt; shorter by up to a half, so that not all clients come at once. */
  next(): number {
    const attempt = this.#attempt++;
    if (attempt === 0) return 0;
    return Math.min(minWaitMs * 2 ** (attempt - 1), maxWaitMs) * (0.5 + this.random() / 2);
  }

  /** Something has come through: the next attempt is a first one. */
  works(): void {
    if (this.now() >= this.#steadyAt) this.#attempt = 0;
  }

  /** The server has ended the connection: what has ended this one may end the next as well, however well it begins. */
  ended(): void {
    this.#steadyAt = this.now() + steadyMs;
  }
}
