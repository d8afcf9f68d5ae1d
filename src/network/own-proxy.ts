/** How requests of `cai` itself leave this machine: through the proxies of the user's configuration. */
import { once } from 'node:events';
import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { isIP, type Socket } from 'node:net';
import type { HostNetwork } from '../config/config';
import { placeOfUrl, placeText, type Place } from '../config/host-rules';
import { isLoopback } from '../config/serve-places';

/** Proxies of this machine and the places that they are not for; empty is as undefined. */
interface Proxies {
  readonly httpProxy?: string | undefined;
  readonly httpsProxy?: string | undefined;
  readonly noProxy?: string | undefined;
}

/** The proxy of this machine that leads to the place; `undefined`: none, it is dialled from here. */
export function proxyFor(proxies: Proxies, place: Place, kind: 'http' | 'https'): URL | undefined {
  const { httpProxy, httpsProxy, noProxy = '' } = proxies;
  const proxy = kind === 'http' ? httpProxy : httpsProxy;
  const isExempt = noProxy.split(/[\s,]+/).some((word) => isNamedBy(word.toLowerCase(), place));
  return proxy === undefined || proxy === '' || isExempt ? undefined : new URL(proxy);
}

/** The proxy that leads to a server, as the configuration says, else the environment; `undefined`: none. */
export function proxyToServer(network: HostNetwork, env: NodeJS.ProcessEnv, url: URL): URL | undefined {
  const place = placeOfUrl(url.href.replace(/^ws/, 'http'));
  if (place === undefined || isLoopback(url.hostname)) return undefined;
  const named = (name: string): string | undefined => env[name] ?? env[name.toUpperCase()];
  // As curl has it, an address without a scheme is one of HTTP.
  const address = (name: string): string | undefined =>
    named(name)?.replace(/^(?!https?:\/\/)(?=.)/, 'http://');
  const httpProxy = network.httpProxy ?? address('http_proxy');
  const httpsProxy = network.httpsProxy ?? address('https_proxy');
  const proxies = { httpProxy, httpsProxy, noProxy: network.noProxy ?? named('no_proxy') };
  return proxyFor(proxies, place, url.protocol === 'ws:' ? 'http' : 'https');
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

/** A tunnel through a proxy, and the name for TLS in it. Rejects if there is none, or once `signal` says so. */
export async function tunnelTo(
  place: Place,
  proxy: URL,
  signal: AbortSignal,
): Promise<{ socket: Socket; servername: string }> {
  const asking = tunnelRequest(proxy, place);
  const answered = once(asking, 'connect', { signal }) as Promise<[IncomingMessage, Socket]>;
  // Errors that come when another has been told.
  asking.on('error', () => undefined).end();
  try {
    const [{ statusCode }, socket] = await answered;
    if (statusCode === 200) return { socket, servername: isIP(place.host) === 0 ? place.host : '' };
    throw new Error(`the proxy of this machine answers with status ${statusCode} for ${placeText(place)}`);
  } catch (reason) {
    asking.destroy();
    throw reason;
  }
}

/** The header that a proxy wants whose address has a user and a password. */
export function credentialsFor({ username, password }: URL): [string, string][] {
  if (username === '') return [];
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return [['Proxy-Authorization', `Basic ${Buffer.from(pair).toString('base64')}`]];
}

/** Whether a word of a list of exceptions names the place: a host and all below it, perhaps with a port; or `*`. */
function isNamedBy(word: string, { host, port }: Place): boolean {
  const [, name = '', digits] = /^\*?\.?(.*?)(?::(\d+))?$/.exec(word) ?? [];
  if (word === '*') return true;
  if (name === '' || (digits !== undefined && Number(digits) !== port)) return false;
  return host === name || host.endsWith(`.${name}`);
}
