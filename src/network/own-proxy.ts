/** How requests of `cai` itself leave this machine: through the proxies of the user's configuration. */
import { once } from 'node:events';
import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { isIP, type Socket } from 'node:net';
import { CaiError, messageOf } from '../errors';
import { unlessFails } from '../system/unless';
import { addressesIn, placeOfUrl, placeText, type Place } from '../config/host-rules';
import { isLoopback } from '../config/serve-places';
import { proxiesIn, type Proxies } from './proxy-variables';

/** The proxy of this machine that leads to the place; `undefined`: none, it is dialled from here. */
export function proxyFor(proxies: Proxies, place: Place, kind: 'http' | 'https'): URL | undefined {
  const { httpProxy, httpsProxy, noProxy = '' } = proxies;
  const proxy = kind === 'http' ? httpProxy : httpsProxy;
  const isExempt = noProxy.split(/[\s,]+/).some((word) => isNamedBy(word.toLowerCase(), place));
  return proxy === undefined || proxy === '' || isExempt ? undefined : new URL(proxy);
}

/**
 * The proxy that leads to a server, as the configuration says, else the environment; `undefined`: none. Fails with
 * `CaiError('CONFIG')` for a variable with something else than the address of a proxy that speaks HTTP.
 */
export function proxyToServer(configured: Proxies, env: NodeJS.ProcessEnv, url: URL): URL | undefined {
  const place = placeOfUrl(url.href.replace(/^ws/, 'http'));
  if (place === undefined || isLoopback(url.hostname)) return undefined;
  const given = proxiesIn(env);
  const kind = url.protocol === 'ws:' ? 'http' : 'https';
  const { httpProxy = given.httpProxy, httpsProxy = given.httpsProxy, noProxy = given.noProxy } = configured;
  const found = kind === 'http' ? httpProxy : httpsProxy;
  if (found && httpProxyAt(found) === undefined)
    throw new CaiError(
      'CONFIG',
      `${kind.toUpperCase()}_PROXY is not the address of an HTTP proxy, such as http://proxy.example.com:3128: correct or unset it`,
    );
  return proxyFor({ httpProxy: found, httpsProxy: found, noProxy }, place, kind);
}

/** `undefined`: that is not the address of a proxy that speaks HTTP. */
export function httpProxyAt(address: string): URL | undefined {
  const url = unlessFails(() => new URL(address));
  const isOne = url && /^https?:$/.test(url.protocol) && unlessFails(() => credentialsFor(url)) !== undefined;
  return isOne ? url : undefined;
}

/**
 * The request for a tunnel through a proxy, which looks the name up itself; `connect` is its answer, and it is not sent
 * yet.
 */
export function tunnelRequest(proxy: URL, place: Place): ClientRequest {
  const { request } = proxy.protocol === 'https:' ? https : http;
  const path = placeText(place);
  const headers = { host: path, ...Object.fromEntries(credentialsFor(proxy)) };
  return request(proxy, { method: 'CONNECT', path, headers, agent: false });
}

/** A tunnel through a proxy, and the name for TLS in it. Rejects if the proxy gives no tunnel, or once `signal` says so. */
export async function tunnelTo(
  place: Place,
  proxy: URL,
  signal: AbortSignal,
): Promise<{ socket: Socket; servername: string }> {
  const asking = tunnelRequest(proxy, place);
  const answered = once(asking, 'connect', { signal }) as Promise<[IncomingMessage, Socket, Buffer]>;
  // Errors that come when another has been told.
  asking.on('error', () => undefined).end();
  try {
    const [{ statusCode }, socket, head] = await answered;
    if (statusCode === 200) {
      socket.unshift(head);
      return { socket, servername: isIP(place.host) === 0 ? place.host : '' };
    }
    socket.destroy();
    throw new Error(`answers with status ${statusCode} for ${placeText(place)}`);
  } catch (reason) {
    asking.destroy();
    const why = signal.aborted
      ? 'does not answer'
      : messageOf(reason).replace(/^(?!answers)/, 'cannot be used: ');
    throw new Error(`the proxy of this machine, ${proxy.host}, ${why}`, { cause: reason });
  }
}

/** The header that a proxy wants whose address has a user and a password. */
export function credentialsFor({ username, password }: URL): [string, string][] {
  if (username === '') return [];
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return [['Proxy-Authorization', `Basic ${Buffer.from(pair).toString('base64')}`]];
}

/**
 * Whether a word of a list of exceptions names the place: a host and all below it, perhaps with a port; a range of
 * addresses; or `*`.
 */
function isNamedBy(word: string, { host, port }: Place): boolean {
  if (word.includes('/')) return addressesIn(word)?.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4') ?? false;
  const [, name = '', digits] = /^\*?\.?(.*?)(?::(\d+))?$/.exec(word) ?? [];
  if (word === '*') return true;
  if (name === '' || (digits !== undefined && Number(digits) !== port)) return false;
  return host === name || host.endsWith(`.${name}`);
}
