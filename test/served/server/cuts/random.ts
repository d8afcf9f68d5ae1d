/** Random choices that a seed makes again. */
import type { Cut } from '../../client/cutting-proxy';

/** The seed of this run: `CAI_SEED` makes an earlier one again, as far as the order of events allows. */
export const seed = Number(process.env.CAI_SEED ?? Date.now() % 2 ** 31);

/** Source: the generator mulberry32. */
export class Random {
  #state: number;

  constructor(from: number) {
    this.#state = from;
  }

  /** From 0 up to 1, which is never reached. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from `least` to `most`. */
  whole(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.whole(0, list.length - 1)]!;
  }
}

/** Bytes until a cut: now and then in the handshake, mostly in a small message, and sometimes in or behind a large one. */
function bytesToCut(random: Random): number {
  const place = random.next();
  if (place < 0.1) return random.whole(1, 600);
  if (place < 0.16) return random.whole(100_000, 3_000_000);
  return Math.round(600 * 100 ** random.next());
}

/** Anywhere in either direction; `isStream`: after the request, everything comes from the server. */
export function randomCut(random: Random, isStream = false): Cut {
  const bytes = bytesToCut(random);
  const isBack = random.chance(0.6) || (isStream && bytes > 200);
  return {
    to: isBack ? Infinity : bytes,
    from: isBack ? bytes : Infinity,
    how: random.pick(['ends', 'resets', 'leaves', 'late']),
  };
}
