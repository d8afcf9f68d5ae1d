/**
 * How a browser comes in without a token: a ticket, which works once, becomes a cookie and a key. Browsers send the cookie
 * to all ports of a host, behind which can be somebody else; what a page keeps, such as the key, they keep for its port.
 */
import { randomBytes } from 'node:crypto';
import { digestOf } from './tokens';
import type { Visitor } from './visitor';

const ticketMs = 5 * 60_000;
export const cookieMs = 12 * 60 * 60_000;
/** For each visitor; the oldest makes room. */
const most = { tickets: 8, cookies: 32 };

interface Pass {
  readonly visitor: Visitor;
  readonly untilMs: number;
  /** The host and port that it is good for. */
  readonly place: string;
  /** Digest of the key that a cookie needs. */
  readonly key?: string;
}

/** What a browser has, once it was let in. */
export interface BrowserSecrets {
  /** It sends this to every port of the host. */
  readonly cookie: string;
  /** The page alone has this. */
  readonly key: string;
}

/** By the SHA-256 of secrets, which are kept nowhere. */
type Passes = Map<string, Pass>;

function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** One server's, in memory alone: they end with it. */
export class Tickets {
  readonly #tickets: Passes = new Map();
  readonly #cookies: Passes = new Map();

  /** `now`: milliseconds that never go back. */
  constructor(private readonly now: () => number) {}

  /** A secret that works once, within five minutes. */
  newTicket(visitor: Visitor): string {
    return this.#issue(this.#tickets, { visitor, untilMs: this.now() + ticketMs, place: '' }, most.tickets);
  }

  /** The visitor, and a cookie and its key, good for requests to `place` alone; `undefined`: it is no ticket. */
  redeem(ticket: string, place: string): (BrowserSecrets & { readonly visitor: Visitor }) | undefined {
    const pass = this.#find(this.#tickets, ticket);
    this.#tickets.delete(digestOf(ticket));
    if (pass === undefined) return undefined;
    const { visitor } = pass;
    const key = newSecret();
    const next = { visitor, untilMs: this.now() + cookieMs, place, key: digestOf(key) };
    return { visitor, cookie: this.#issue(this.#cookies, next, most.cookies), key };
  }

  /** Whose cookie and key these are. */
  holderOf({ cookie, key }: BrowserSecrets, place: string): Visitor | undefined {
    const pass = this.#find(this.#cookies, cookie);
    return pass?.place === place && pass.key === digestOf(key) ? pass.visitor : undefined;
  }

  /** The cookie is good no more. */
  forget(cookie: string): void {
    this.#cookies.delete(digestOf(cookie));
  }

  #issue(passes: Passes, pass: Pass, atMost: number): string {
    for (const [digest, { untilMs }] of passes) if (untilMs <= this.now()) passes.delete(digest);
    const own = [...passes].filter(([, { visitor }]) => visitor.name === pass.visitor.name);
    for (const [digest] of own.slice(0, Math.max(0, own.length - atMost + 1))) passes.delete(digest);
    const secret = newSecret();
    passes.set(digestOf(secret), pass);
    return secret;
  }

  #find(passes: Passes, secret: string): Pass | undefined {
    const pass = passes.get(digestOf(secret));
    return pass !== undefined && pass.untilMs > this.now() ? pass : undefined;
  }
}
