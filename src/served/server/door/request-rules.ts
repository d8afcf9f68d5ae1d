/**
 * What every request must be, whoever sends it: meant for this server, and not sent by a web page of somebody else. A
 * page can make browsers send requests to any address, also to this machine's.
 */
import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import { normalHost, placeText, type Place } from '../../../config/host-rules';
import { isLoopback } from '../../../config/serve-places';
import { plainAddress } from './failures';
import { tokenPrefix } from './tokens';
import type { Refusal } from './visitor';

export type Request = IncomingMessage | Http2ServerRequest;

/** How the server is reached, besides what each connection tells. */
export interface Names {
  /** Hosts that it was told to listen on, in one spelling. */
  readonly listens: ReadonlySet<string>;
  /** Further ones, with or without a port. */
  readonly hosts: readonly string[];
  /** Of other pages that may connect. */
  readonly origins: readonly string[];
  /** A proxy before it speaks TLS with clients. */
  readonly isBehindProxy: boolean;
  /** The headers in which a proxy says who comes in, in lower case. */
  readonly proxyHeaders: readonly string[];
}

/** What is known of a request that is in order. */
export interface Facts {
  /** The name and port that it is for, in one spelling. */
  readonly place: string;
  /** Whether that name is only good on this machine. */
  readonly isLoopback: boolean;
  /** A page of ours has sent it, says the browser. */
  readonly isOwnPage: boolean;
}

/** Two of them could be read differently by whoever stands before the server. */
const single = ['host', ':authority', 'authorization', 'origin', 'content-length', 'sec-fetch-site'];
/** Names that nobody can have in the DNS. Browsers keep the cookies of the second apart from those of other servers. */
const localNames = ['localhost', 'cai.localhost'];

/** What a request tells of itself, or why it is refused. `isLocal`: by a Unix socket. */
export function factsOf(request: Request, names: Names, isLocal: boolean): Facts | Refusal {
  const malformed = whyMalformed(request, names);
  if (malformed !== undefined) return { status: 400, text: malformed };
  const isTls = isEncrypted(request) || (names.isBehindProxy && !isLocal);
  const place = placeOf(hostHeader(request), isTls ? 443 : 80);
  if (place === undefined)
    return { status: 400, text: 'The request does not say properly which host it is for.' };
  if (!isServed(place, request, names, isLocal)) {
    const line = `hosts = ["${placeText(place)}"]`;
    const text = `This server is not known by that name and port: if it is right, put ${line} below [serve] in the server's config.toml, and start it again.`;
    return { status: 421, text };
  }
  const own = isLocal ? undefined : new URL(`${isTls ? 'https' : 'http'}://${placeText(place)}`).origin;
  const refusal = refusalOfPage(request, own, names.origins);
  if (refusal !== undefined) return { status: 403, text: refusal };
  const { origin, 'sec-fetch-site': site } = request.headers;
  const isOwnPage = origin === undefined ? site === 'same-origin' : origin === own;
  return { place: placeText(place), isLoopback: isLocalName(place.host), isOwnPage };
}

/** A sentence; `undefined`: everybody reads the request in one way. */
function whyMalformed(
  { rawHeaders, headers, url = '' }: Request,
  { proxyHeaders }: Names,
): string | undefined {
  const sent = rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  const doubled = [...single, ...proxyHeaders].find((name) => sent.indexOf(name) !== sent.lastIndexOf(name));
  if (doubled !== undefined) return `The request has two headers "${doubled}".`;
  if (headers['content-length'] !== undefined && headers['transfer-encoding'] !== undefined)
    return 'The request has two lengths.';
  if (!url.startsWith('/')) return 'The request must name a path of this server.';
  if (hasToken(url))
    return 'A token must not be in a URL, where others can read it: send it as "Authorization: Bearer", and revoke this one.';
  return undefined;
}

/** Also of one that is written with escapes. */
function hasToken(url: string): boolean {
  const query = new URLSearchParams(url.split('?').slice(1).join('?'));
  const isNamed = [...query.keys()].some((name) =>
    /^(access_?token|token|authorization|bearer)$/i.test(name),
  );
  return isNamed || [url, ...query.values()].some((text) => text.includes(tokenPrefix));
}

/** `undefined` also where HTTP/2 has both forms and they differ. */
function hostHeader({ headers }: Request): string | undefined {
  const authority = headers[':authority'] as string | undefined;
  if (authority === undefined || headers.host === undefined) return authority ?? headers.host;
  return authority === headers.host ? authority : undefined;
}

/** `undefined`: it is in no form that all would understand alike, such as with a user, a final dot or `0x7f.1`. */
function placeOf(header: string | undefined, usualPort: number): Place | undefined {
  const [, host, port] = /^(\[[\da-f:.]+\]|[\w.-]+)(?::(\d{1,5}))?$/i.exec(header ?? '') ?? [];
  if (host === undefined) return undefined;
  const plain = host.replace(/^\[|\]$/g, '').toLowerCase();
  const number = port === undefined ? usualPort : Number(port);
  return normalHost(host) === plain && number > 0 && number < 65_536
    ? { host: plain, port: number }
    : undefined;
}

function isServed({ host, port }: Place, { socket }: Request, names: Names, isLocal: boolean): boolean {
  // Who forwards a port to the socket chooses it.
  if (isLocal && isLocalName(host)) return true;
  const { localPort, localAddress = '' } = socket;
  const isUsual = isLocal || port === localPort;
  // No web page of somebody else can be at an address of this machine, so the one by which the request came is right.
  const known = [...localNames, ...names.listens, normalHost(plainAddress(localAddress))];
  if (!isLocal && isUsual && known.includes(host)) return true;
  return names.hosts.some((each) => {
    if (/:\d+$/.test(each)) return each === placeText({ host, port });
    const isPort = isUsual || (names.isBehindProxy && port === 443);
    return isPort && each.replace(/^\[|\]$/g, '') === host;
  });
}

/** A sentence; `undefined`: no page, or one that may connect. `own`: the origin of our pages. */
function refusalOfPage(
  { headers }: Request,
  own: string | undefined,
  origins: readonly string[],
): string | undefined {
  const { origin, 'sec-fetch-site': site } = headers;
  if (origin !== undefined) {
    if (origin === own || origins.includes(origin)) return undefined;
    return 'Web pages from elsewhere must not use this server: if this one may, add it to "origins" in [serve].';
  }
  // Browsers leave `Origin` out of some requests, and say in other words who sends them. Source: Fetch Metadata.
  if (site === undefined || site === 'same-origin' || site === 'none') return undefined;
  return 'Another web page has sent this request: open the address yourself.';
}

/** What a browser's WebSocket offers besides ACP instead of a header, which no page can add: `bearer.TOKEN`. */
export const bearerPrefix = 'bearer.';

/** As `Authorization` would say it; `undefined`: no such protocol is offered. */
export function bearerProtocol({ headers }: Request): string | undefined {
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((each) => each.trim());
  const bearer = offered.find((each) => each.startsWith(bearerPrefix));
  return bearer && `Bearer ${bearer.slice(bearerPrefix.length)}`;
}

/** Whether TLS ends here. */
export function isEncrypted({ socket }: Request): boolean {
  return (socket as { readonly encrypted?: boolean }).encrypted === true;
}

function isLocalName(host: string): boolean {
  return localNames.includes(host) || isLoopback(host);
}
