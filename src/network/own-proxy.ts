/** How requests of `cai` itself leave this machine: through the proxies of the user's configuration. */
import http, { type ClientRequest } from 'node:http';
import https from 'node:https';
import type { HostNetwork } from '../config/config';
import { placeText, type Place } from '../config/host-rules';

/** The proxy of this machine that leads to the place; `undefined`: none, it is dialled from here. */
export function proxyFor(network: HostNetwork, place: Place, kind: 'http' | 'https'): URL | undefined {
  const { httpProxy, httpsProxy, noProxy = '' } = network;
  const proxy = kind === 'http' ? httpProxy : httpsProxy;
  const isExempt = noProxy.split(/[\s,]+/).some((word) => isNamedBy(word.toLowerCase(), place));
  return proxy === undefined || isExempt ? undefined : new URL(proxy);
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
