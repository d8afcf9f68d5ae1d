/** Rules that name places of the network, such as `*.example.com:443` and `10.0.0.0/8`. */
import type { BlockList } from 'node:net';
import { builtin } from '../system/builtin';

/** Where a connection leads. */
export interface Place {
  /** A name in lower case without a final dot, or an address without brackets; as `normalHost` makes it. */
  readonly host: string;
  readonly port: number;
}

export interface HostRule {
  readonly text: string;
  /** The name, or what comes after `*.`; empty for a rule of addresses. */
  readonly name: string;
  /** Whether names below `name` are meant, and not that name; with an empty `name` all names. */
  readonly isWide: boolean;
  /** The addresses; `undefined` for a rule of names. */
  readonly addresses: BlockList | undefined;
  /** `undefined`: the rule names none. */
  readonly port: number | 'any' | undefined;
}

/** An address in brackets or not, or a name, and perhaps a port. */
const form = /^(?:\[([\da-f:.]+(?:\/\d{1,3})?)\]|([^\s:[\]]+))(?::(\d{1,5}|\*))?$/i;
const nameForm = /^(?=.{1,253}$)[a-z\d_]([\w-]{0,61}[a-z\d_])?(\.[a-z\d_]([\w-]{0,61}[a-z\d_])?)*$/i;

/** The name of this machine inside containers that reach ports of it, as Docker has it. */
export const machineName = 'host.docker.internal';

/** The address that `container.extra_hosts` gives a name in lower case; `undefined`: none. */
export function extraAddress(extraHosts: readonly string[], name: string): string | undefined {
  const entry = extraHosts.find((each) => each.slice(0, each.indexOf(':')).toLowerCase() === name);
  return entry?.slice(entry.indexOf(':') + 1);
}

/** Whether `machineName` leads to ports of this machine: the user, or the engine of an open network, may define it. */
export function namesMachine({
  network: { egress, hostPorts },
  container: { extraHosts },
}: {
  readonly network: { readonly egress: string; readonly hostPorts: readonly number[] };
  readonly container: { readonly extraHosts: readonly string[] };
}): boolean {
  return hostPorts.length > 0 && egress !== 'open' && extraAddress(extraHosts, machineName) === undefined;
}

/** `undefined`: the text is no rule. */
export function parseRule(text: string): HostRule | undefined {
  const [, bracketed, plain = '', digits] = form.exec(text) ?? [];
  const port = digits === undefined ? undefined : digits === '*' ? 'any' : Number(digits);
  if (port === 0 || (typeof port === 'number' && port > 65_535)) return undefined;
  const host = bracketed ?? plain;
  const addresses = addressesIn(host);
  if (addresses !== undefined) return { text, name: '', isWide: false, addresses, port };
  const isWide = host === '*' || host.startsWith('*.');
  const name = isWide ? host.slice(2) : host;
  const isName = (name === '' && host === '*') || (nameForm.test(name) && !/^[\d.]+$/.test(name));
  if (bracketed !== undefined || !isName) return undefined;
  return { text, name: name.toLowerCase(), isWide, addresses: undefined, port };
}

/**
 * Whether a rule names a place. Names are compared with names and addresses with addresses: what a name leads to does
 * not count. `usual`: the ports of a rule that names none.
 */
export function names(rule: HostRule, { host, port }: Place, usual: readonly number[] | 'any'): boolean {
  const ports = rule.port ?? usual;
  const isPort = ports === 'any' || (typeof ports === 'number' ? ports === port : ports.includes(port));
  if (!isPort) return false;
  const family = builtin('node:net').isIP(host);
  if (rule.addresses !== undefined)
    return family !== 0 && rule.addresses.check(host, family === 4 ? 'ipv4' : 'ipv6');
  if (family !== 0) return false;
  if (!rule.isWide) return host === rule.name;
  return rule.name === '' || host.endsWith(`.${rule.name}`);
}

/**
 * A host as everybody who connects understands it, however it is written: `0x7f.1` is 127.0.0.1. `undefined`: it is
 * none, or no rule could name it, as with characters that mean something to a shell. Source: WHATWG URL, host parsing.
 */
export function normalHost(host: string): string | undefined {
  const text = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  // Nothing but a host: no user, port or path.
  if (!/^[^\s/?#@\\:[\]]+$|^\[[\da-f:.]+\]$/i.test(text) || !URL.canParse(`http://${text}/`))
    return undefined;
  const { hostname } = new URL(`http://${text}/`);
  const normal = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  return hostname.startsWith('[') || nameForm.test(normal) ? normal : undefined;
}

/** Where a URL of `http` or `https` leads; `undefined` for any other text. */
export function placeOfUrl(url: string): Place | undefined {
  const { protocol, hostname, port } = URL.canParse(url) ? new URL(url) : { protocol: '' };
  if (protocol !== 'http:' && protocol !== 'https:') return undefined;
  const host = normalHost(hostname!);
  const usual = protocol === 'http:' ? 80 : 443;
  return host === undefined ? undefined : { host, port: port === '' ? usual : Number(port) };
}

/** As `HOST:PORT`, with an IPv6 address in brackets. */
export function placeText({ host, port }: Place): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The eight numbers of an address of IPv6, without a zone. */
export function ipv6Groups(address: string): number[] {
  // `URL` writes each address in one way.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const numbers = (text = '') => (text === '' ? [] : text.split(':').map((group) => parseInt(group, 16)));
  const [first, last] = [numbers(head), numbers(tail)];
  return [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last];
}

/** `undefined`: it is no address or range of addresses. */
export function addressesIn(text: string): BlockList | undefined {
  const { BlockList, isIP } = builtin('node:net');
  const [, address = '', , bits] = /^([\da-f:.]+)(\/(\d{1,3}))?$/i.exec(text) ?? [];
  const family = isIP(address);
  const longest = family === 4 ? 32 : 128;
  const length = bits === undefined ? longest : Number(bits);
  if (family === 0 || length > longest) return undefined;
  const list = new BlockList();
  list.addSubnet(address, length, family === 4 ? 'ipv4' : 'ipv6');
  return list;
}
