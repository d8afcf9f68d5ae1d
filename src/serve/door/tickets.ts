/** How a browser comes in without a token: a ticket, which works once, becomes a cookie. */
import { randomBytes } from 'node:crypto';
import { digestOf } from './tokens';
import type { Visitor } from './visitor';

const ticketMs = 5 * 60_000;
const cookieMs = 12 * 60 * 60_000;
/** For each visitor; the oldest makes room. */
const most = { tickets: 8, cookies: 32 };

interface Pass {
  readonly visitor: Visitor;
  readonly untilMs: number;
  /** The host and port that it is good for. */
  readonly place: string;
}

/** By the SHA-256 of secrets, which are kept nowhere. */
type Passes = Map<string, Pass>;

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

  /** The visitor and the secret of a cookie, which is good for requests to `place` alone; `undefined`: it is no ticket. */
  redeem(ticket: string, place: string): { readonly visitor: Visitor; readonly cookie: string } | undefined {
    const pass = this.#find(this.#tickets, ticket);
    this.#tickets.delete(digestOf(ticket));
    if (pass === undefined) return undefined;
    const { visitor } = pass;
    const next = { visitor, untilMs: this.now() + cookieMs, place };
    return { visitor, cookie: this.#issue(this.#cookies, next, most.cookies) };
  }

  /** Whose cookie it is. */
  holderOf(cookie: string, place: string): Visitor | undefined {
    const pass = this.#find(this.#cookies, cookie);
    return pass?.place === place ? pass.visitor : undefined;
  }

  /** The cookie is good no more. */
  forget(cookie: string): void {
    this.#cookies.delete(digestOf(cookie));
  }

  #issue(passes: Passes, pass: Pass, atMost: number): string {
    for (const [digest, { untilMs }] of passes) if (untilMs <= this.now()) passes.delete(digest);
    const own = [...passes].filter(([, { visitor }]) => visitor.name === pass.visitor.name);
    for (const [digest] of own.slice(0, Math.max(0, own.length - atMost + 1))) passes.delete(digest);
    const secret = randomBytes(32).toString('base64url');
    passes.set(digestOf(secret), pass);
    return secret;
  }

  #find(passes: Passes, secret: string): Pass | undefined {
    const pass = passes.get(digestOf(secret));
    return pass !== undefined && pass.untilMs > this.now() ? pass : undefined;
  }
}
