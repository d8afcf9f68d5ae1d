/** The door of `cai serve`: who sends a request, or why nobody is let in by it. */
import type { TLSSocket } from 'node:tls';
import type { Config } from '../../../config/config';
import { normalHost } from '../../../config/host-rules';
import { isPersonName, ownerName } from '../../../config/serve-words';
import { messageOf } from '../../../errors';
import type { Host } from '../../../system/host';
import { Browsers } from './browsers';
import { Failures } from './failures';
import { OwnTokens } from './own-tokens';
import { bearerProtocol, factsOf, type Facts, type Names, type Request } from './request-rules';
import type { BrowserSecrets } from './tickets';
import { Tokens, type TokenHolder } from './tokens';
import { Users } from './users';
import { isRefusal, type Refusal, type Visitor } from './visitor';

export interface DoorOptions {
  /** Its state folder has the tokens. */
  readonly host: Host;
  /** The table `[serve]`. */
  readonly serve: Config['serve'];
  /** A proxy of the user's stands before the server and speaks TLS with clients. */
  readonly isBehindProxy: boolean;
  /** Told what is wrong with the files of tokens and the configuration; nobody comes in by what cannot be read. */
  readonly onProblem?: (what: string) => void;
  readonly onAdmitted?: (request: Request) => void;
  /** Milliseconds that never go back; for tests. */
  readonly now?: () => number;
}

/** Whom a proxy says to send a request. */
interface Named {
  readonly person?: string | undefined;
  /** Of the identity provider. */
  readonly groups?: readonly string[];
}

/** What a token that is for the counts gets everywhere else. */
const forMetricsAlone: Refusal = { status: 403, text: 'This token reads /metrics, and nothing else.' };

/** Where a visitor was let in who has no token. */
const withoutToken = 'no token';

export class Door {
  readonly #tokens: Tokens;
  readonly #browsers: Browsers;
  readonly #failures: Failures;
  readonly #users: Users;
  readonly #listens = new Set<string>();
  readonly #names: Names;
  /** In which a proxy names the person and their groups, in lower case; empty: in none. */
  readonly #personHeader: string;
  readonly #groupsHeader: string;
  readonly #isBehindProxy: boolean;
  readonly #onProblem: (what: string) => void;
  readonly #onAdmitted: (request: Request) => void;
  /** By what each was let in. */
  readonly #admitted = new WeakMap<Visitor, TokenHolder | typeof withoutToken>();

  /** Makes the user's token, if it is missing; throws `CaiError('CONFIG')` if the files of tokens are not safe. */
  constructor(options: DoorOptions) {
    const { host, serve, isBehindProxy, now = () => performance.now() } = options;
    this.#users = new Users(serve, host);
    const { hosts, origins, identityHeader, groupsHeader } = serve;
    this.#personHeader = identityHeader?.toLowerCase() ?? '';
    this.#groupsHeader = groupsHeader?.toLowerCase() ?? '';
    const proxyHeaders = [this.#personHeader, this.#groupsHeader];
    this.#names = { listens: this.#listens, hosts, origins, isBehindProxy, proxyHeaders };
    this.#isBehindProxy = isBehindProxy;
    this.#onProblem = options.onProblem ?? (() => undefined);
    this.#onAdmitted = options.onAdmitted ?? (() => undefined);
    this.#browsers = new Browsers({ name: 'cai', isBehindProxy, now });
    this.#failures = new Failures(now);
    this.#tokens = new Tokens(host);
    this.#tokens.ownerToken();
    this.#tokens.list();
  }

  /** The server was told to listen on that host, so that requests may name it. */
  listensOn(host: string): void {
    const name = normalHost(host);
    // 0.0.0.0 and :: stand for all addresses.
    if (name !== undefined && name !== '0.0.0.0' && name !== '::') this.#listens.add(name);
  }

  /**
   * Who sends a request, also for an upgrade. What counts is the token, and with that of a proxy the person whom it names,
   * else the certificate of the client, else the Unix socket (`isLocal`: only the user can open it), else the cookie.
   */
  admit(request: Request, isLocal: boolean): Visitor | Refusal {
    const visitor = this.#visitorOf(request, isLocal);
    if (!isRefusal(visitor)) this.#onAdmitted(request);
    return visitor;
  }

  #visitorOf(request: Request, isLocal: boolean): Visitor | Refusal {
    const facts = factsOf(request, this.#names, isLocal);
    if (isRefusal(facts)) return facts;
    const authorization = request.headers.authorization ?? bearerProtocol(request);
    if (authorization !== undefined) return this.#admitHeader(authorization, request);
    const certified = this.#unlessUnreadable(() => this.#certified(request.socket as TLSSocket));
    if (certified !== undefined) return certified;
    if (isLocal && facts.isLoopback) return this.admitLocal();
    return this.#byCookie(request, facts) ?? unauthorized();
  }

  /** Who opens the Unix socket without more words. */
  admitLocal(): Visitor | Refusal {
    // A proxy would make everybody the user.
    return this.#isBehindProxy ? unauthorized() : this.#remember({ name: ownerName }, withoutToken);
  }

  /** Who sends a token, also as the first line of a plain connection; `address`: where from. `named`: whom a proxy names. */
  admitToken(token: string, address: string, named?: Named): Visitor | Refusal {
    return this.#unlessUnreadable(() => {
      const holder = this.#tokens.holderOf(token);
      // Whoever has the right one comes in, however many wrong ones others have sent from the same address.
      if (holder === undefined) return this.#failed(address);
      void this.#tokens.noteUse(holder);
      if (holder.use === 'metrics') return forMetricsAlone;
      return holder.use === 'proxy' ? this.#named(named, holder) : this.#visitorFor(holder);
    });
  }

  /** Why a request does not get the counts; `undefined`: the user sends it, or a program with a token for them. */
  refusalOfMetrics(request: Request, isLocal: boolean): Refusal | undefined {
    const visitor = this.admit(request, isLocal);
    if (visitor === forMetricsAlone) return undefined;
    if (isRefusal(visitor)) return visitor;
    if (visitor.name === ownerName) return undefined;
    return {
      status: 403,
      text: 'Only the user who runs this server, and tokens for that, read its metrics.',
    };
  }

  /**
   * False once the token was revoked, or the configuration says something else of who came in. `visitor`: the very object
   * that was returned here.
   */
  isStillAdmitted(visitor: Visitor): boolean {
    const by = this.#admitted.get(visitor);
    if (by === undefined) return false;
    const isAdmitted = this.#unlessUnreadable(
      () => (by === withoutToken || this.#tokens.isHeld(by)) && this.#users.isStill(visitor),
    );
    return isAdmitted === true;
  }

  /** What lets a browser in as this visitor, once and within five minutes: see `redeem`. Not to be sent to a log. */
  newTicket(visitor: Visitor): string {
    return this.#browsers.newTicket(visitor);
  }

  /**
   * `Set-Cookie` for a ticket, and the key that has to come with the cookie. They last for 12 hours, and are good only for
   * the host that the request names.
   */
  redeem(ticket: string, request: Request): BrowserSecrets | Refusal {
    const facts = factsOf(request, this.#names, false);
    if (isRefusal(facts)) return facts;
    const redeemed = this.#browsers.redeem(ticket, request, facts);
    if (redeemed === undefined || !this.isStillAdmitted(redeemed.visitor))
      return this.#failed(request.socket.remoteAddress ?? '');
    // The cookie would be good for longer than the proxy lets them in.
    if (this.#isByProxy(redeemed.visitor)) return { status: 403, text: 'You are signed in by a proxy.' };
    return { cookie: redeemed.cookie, key: redeemed.key };
  }

  /** Somebody who has a token, for as long as they have it, or why nobody of that name comes in. */
  visitorNamed(name: string): Visitor | Refusal {
    return this.#unlessUnreadable(() => {
      const holder = this.#tokens.holderNamed(name);
      if (holder !== undefined && holder.use === undefined) return this.#visitorFor(holder);
      return { status: 404, text: 'nobody of that name has a token of this server' };
    });
  }

  /** What this visitor makes tokens by, or why they make none: a token or cookie that has leaked makes no further ways in. */
  ownTokensOf(visitor: Visitor): OwnTokens | Refusal {
    if (this.#isByProxy(visitor)) return new OwnTokens(this.#tokens, visitor);
    return { status: 403, text: 'Only who is signed in by a proxy makes and ends tokens here.' };
  }

  /** `Set-Cookie` for who leaves: the cookie of the request is good no more. */
  signOut(request: Request): { readonly cookie: string } {
    return this.#browsers.signOut(request);
  }

  /** Why a request is refused whoever sends it; `undefined`: it is not. For what everybody may have, such as the page. */
  check(request: Request, isLocal: boolean): Refusal | undefined {
    const facts = factsOf(request, this.#names, isLocal);
    return isRefusal(facts) ? facts : undefined;
  }

  /** Source: RFC 6750, sections 2.1 and 3. */
  #admitHeader(header: string, { socket, headers }: Request): Visitor | Refusal {
    const token = /^Bearer +([\w.~+/-]+=*)$/i.exec(header)?.[1];
    // There is but one of each, which the rules for requests see to.
    const person = headers[this.#personHeader] as string | undefined;
    // Node reads each byte as a character.
    const listed = Buffer.from((headers[this.#groupsHeader] ?? '') as string, 'latin1').toString('utf8');
    const groups = listed.split(',').map((each) => each.trim());
    if (token !== undefined) return this.admitToken(token, socket.remoteAddress ?? '', { person, groups });
    return { status: 400, text: 'The header "Authorization" must be "Bearer TOKEN".' };
  }

  #certified(socket: TLSSocket): Visitor | undefined {
    if (!socket.authorized) return undefined;
    const { CN: name } = (socket.getPeerCertificate().subject as { CN?: unknown } | undefined) ?? {};
    const visitor = typeof name === 'string' && name !== ownerName ? this.#users.visitor(name) : undefined;
    return visitor && this.#remember(visitor, withoutToken);
  }

  #byCookie(request: Request, facts: Facts): Visitor | undefined {
    const visitor = this.#browsers.visitorOf(request, facts);
    return visitor !== undefined && this.isStillAdmitted(visitor) ? visitor : undefined;
  }

  /** Never the user: a proxy that goes wrong gives nobody all rights. */
  #named({ person, groups = [] }: Named = {}, proxy: TokenHolder): Visitor | Refusal {
    if (person === undefined)
      return unauthorized(
        'This is the token of a proxy, which has to say who comes in: see "identity_header" in [serve].',
      );
    const visitor = isPersonName(person) ? this.#users.visitor(person, groups) : undefined;
    if (visitor !== undefined) return this.#remember(visitor, proxy);
    return {
      status: 403,
      text: "The server's configuration has no [[serve.users]] for whom the proxy names, and no [[serve.groups]] for their groups.",
    };
  }

  #isByProxy(visitor: Visitor): boolean {
    const by = this.#admitted.get(visitor);
    return by !== undefined && by !== withoutToken && by.use === 'proxy';
  }

  #visitorFor(holder: TokenHolder): Visitor | Refusal {
    const { name, group } = holder;
    const visitor = this.#users.visitor(name, group === undefined ? [] : [group]);
    if (visitor !== undefined) return this.#remember(visitor, holder);
    return {
      status: 403,
      text: "The server's configuration has no [[serve.users]] or [[serve.groups]] for this token.",
    };
  }

  #unlessUnreadable<T>(read: () => T): T | Refusal {
    try {
      return read();
    } catch (reason) {
      this.#onProblem(messageOf(reason));
      return {
        status: 503,
        text: 'The tokens or the configuration of this server cannot be read: its log says why.',
      };
    }
  }

  #failed(address: string): Refusal {
    const waitSeconds = this.#failures.note(address);
    if (waitSeconds === 0)
      return unauthorized('That token is not right, or was revoked.', ', error="invalid_token"');
    return {
      status: 429,
      text: 'There were too many wrong tokens: try again later.',
      headers: { 'Retry-After': String(waitSeconds) },
    };
  }

  #remember(visitor: Visitor, by: TokenHolder | typeof withoutToken): Visitor {
    this.#admitted.set(visitor, by);
    return visitor;
  }
}

function unauthorized(
  text = 'Send a token of this server as "Authorization: Bearer TOKEN".',
  error = '',
): Refusal {
  return { status: 401, text, headers: { 'WWW-Authenticate': `Bearer realm="cai"${error}` } };
}
