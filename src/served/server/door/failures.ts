/** How often wrong tokens may come, from one address and from all. */
import { isIPv6 } from 'node:net';
import { ipv6Groups } from '../../../config/host-rules';
import { RateLimit } from '../../../system/time-limit';

const perMinute = { address: 10, all: 100 };
/** Beyond it the address that was not seen for the longest time is forgotten. */
const maxAddresses = 1_000;

/** Counts wrong tokens. Never asked about right ones, so nobody can keep others out by sending wrong ones. */
export class Failures {
  readonly #addresses = new Map<string, RateLimit>();
  readonly #all: RateLimit;

  /** `now`: milliseconds that never go back. */
  constructor(private readonly now: () => number) {
    this.#all = this.#newLimit(perMinute.all);
  }

  /** Notes one; returns after how many whole seconds another may come, 0 for at once. */
  note(address: string): number {
    const key = networkOf(address);
    const limit = this.#addresses.get(key) ?? this.#newLimit(perMinute.address);
    // The one that was used last stands last.
    this.#addresses.delete(key);
    this.#addresses.set(key, limit);
    if (this.#addresses.size > maxAddresses) this.#addresses.delete(this.#addresses.keys().next().value!);
    return Math.ceil(Math.max(limit.take(), this.#all.take()) / 1_000);
  }

  #newLimit(most: number): RateLimit {
    return new RateLimit(most, most / 60, this.now);
  }
}

/** Of IPv6 the first 64 bits, because one machine can have all addresses behind them. */
export function networkOf(address: string): string {
  const plain = plainAddress(address);
  if (!isIPv6(plain)) return plain;
  const groups = ipv6Groups(plain).slice(0, 4);
  return groups.map((group) => group.toString(16)).join(':');
}

/** Of a socket: without the interface, and IPv4 as itself where the system writes it as IPv6. */
export function plainAddress(address: string): string {
  return address.split('%')[0]!.replace(/^::ffff:(?=[\d.]+$)/i, '');
}
