/** How often something may be done: some of it at once, and then one by one. */
export class RateLimit {
  #left: number;
  #at: number;

  /** `burst` may be done at once; `perSecond` is what may be done in the long run. `now`: a clock, in milliseconds. */
  constructor(
    private readonly burst: number,
    private readonly perSecond: number,
    private readonly now = (): number => performance.now(),
  ) {
    this.#left = burst;
    this.#at = now();
  }

  /** It is done: returns 0. Or it may not be yet: returns after how many milliseconds it may. */
  take(): number {
    const now = this.now();
    this.#left = Math.min(this.burst, this.#left + ((now - this.#at) / 1_000) * this.perSecond);
    this.#at = now;
    if (this.#left < 1) return Math.ceil(((1 - this.#left) * 1_000) / this.perSecond);
    this.#left -= 1;
    return 0;
  }
}
