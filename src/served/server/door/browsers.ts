/** How browsers come in: by a ticket they get a cookie, which counts together with the key that the page alone has. */
import { isEncrypted, type Facts, type Request } from './request-rules';
import { cookieMs, Tickets, type BrowserSecrets } from './tickets';
import type { Visitor } from './visitor';

export class Browsers {
  readonly #tickets: Tickets;

  constructor(
    private readonly options: {
      /** Name of the cookie, which browsers send to all servers of the host, whatever their port. */
      readonly name: string;
      /** A proxy before the server speaks TLS with clients. */
      readonly isBehindProxy: boolean;
      /** Milliseconds that never go back. */
      readonly now: () => number;
    },
  ) {
    this.#tickets = new Tickets(options.now);
  }

  /** What lets a browser in as this visitor, once and within five minutes: see `redeem`. Not to be sent to a log. */
  newTicket(visitor: Visitor): string {
    return this.#tickets.newTicket(visitor);
  }

  /** The visitor, `Set-Cookie` and the key that has to come with the cookie; `undefined`: it is no ticket. */
  redeem(
    ticket: string,
    request: Request,
    { place }: Facts,
  ): (BrowserSecrets & { readonly visitor: Visitor }) | undefined {
    const redeemed = this.#tickets.redeem(ticket, place);
    return redeemed && { ...redeemed, cookie: this.#setCookie(request, redeemed.cookie, cookieMs / 1_000) };
  }

  /** Browsers add cookies to what any page sends: they count for our page alone, which has the key. */
  visitorOf(request: Request, { place, isOwnPage }: Facts): Visitor | undefined {
    if (!isOwnPage) return undefined;
    const [cookie, ...others] = this.#cookiesOf(request);
    // Another server of the same host may have set a second one.
    if (cookie === undefined || others.length > 0) return undefined;
    return this.#tickets.holderOf({ cookie, key: keyOf(request) }, place);
  }

  /** `Set-Cookie` for who leaves: the cookie of the request is good no more. */
  signOut(request: Request): { readonly cookie: string } {
    for (const value of this.#cookiesOf(request)) this.#tickets.forget(value);
    return { cookie: this.#setCookie(request, '', 0) };
  }

  #cookiesOf(request: Request): readonly string[] {
    const name = this.#cookieName(request);
    return (request.headers.cookie ?? '').split(';').flatMap((part) => {
      const [key = '', ...value] = part.split('=');
      return key.trim() === name ? [value.join('=').trim()] : [];
    });
  }

  #setCookie(request: Request, value: string, seconds: number): string {
    const secure = this.#isSecure(request) ? '; Secure' : '';
    return `${this.#cookieName(request)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
  }

  #isSecure(request: Request): boolean {
    return isEncrypted(request) || this.options.isBehindProxy;
  }

  /** Browsers take a `__Host-` cookie only by TLS, and from this very host. */
  #cookieName(request: Request): string {
    return `${this.#isSecure(request) ? '__Host-' : ''}${this.options.name}`;
  }
}

/** The key of our page: in a header, or where scripts can set none, as the name of a protocol. */
function keyOf({ headers }: Request): string {
  const { 'cai-page-key': key, 'sec-websocket-protocol': protocol } = headers;
  if (typeof key === 'string') return key;
  return /^cai\.page-key\.([\w-]+)$/.exec(String(protocol))?.[1] ?? '';
}
