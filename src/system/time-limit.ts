/** Resolves as `done` does, or with `undefined` after `limitMs` milliseconds. */
export async function within<T>(limitMs: number, done: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => (timer = setTimeout(() => resolve(undefined), limitMs)));
  try {
    return await Promise.race([done, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** How often something may be done: `burst` times at once, and `perSecond` times a second in the long run. */
export class RateLimit {
  #left: number;
  #at: number;

  /** `now`: milliseconds that never go back. */
  constructor(
    private readonly burst: number,
    private readonly perSecond: number,
    private readonly now = (): number => performance.now(),
  ) {
    this.#left = burst;
    this.#at = now();
  }

  /** Counts one time and returns 0; or, where that is too soon, returns after how many milliseconds it is not. */
  take(): number {
    const now = this.now();
    this.#left = Math.min(this.burst, this.#left + ((now - this.#at) / 1_000) * this.perSecond);
    this.#at = now;
    if (this.#left < 1) return Math.ceil(((1 - this.#left) * 1_000) / this.perSecond);
    this.#left -= 1;
    return 0;
  }
}
