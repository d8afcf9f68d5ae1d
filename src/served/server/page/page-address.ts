/** Where browsers find the page. */
import type { NetworkInterfaceInfo } from 'node:os';
import { inUrl, type ListenAddress } from '../listen-address';

/** Hosts that stand for all addresses of a machine. */
const everywhere = ['0.0.0.0', '::'];

/**
 * The address of the page, without a slash at its end: the first of `hosts`, the names by which the user says that the
 * server is known, else where it listens first. undefined: it does not listen for browsers.
 */
export function pageAddress(
  listens: readonly ListenAddress[],
  hosts: readonly string[],
  isBehindProxy: boolean,
  interfaces: readonly NetworkInterfaceInfo[],
): string | undefined {
  const listened = listens.flatMap((each) => (each.kind === 'http' ? [each] : []))[0];
  if (listened === undefined) return undefined;
  const scheme = listened.isTls || isBehindProxy ? 'https' : 'http';
  const [named] = hosts;
  if (named !== undefined) {
    const hasPort = /:\d+$/.test(named) && !/^[\da-f:]+$/i.test(named);
    const host = hasPort ? named : inUrl(named.replace(/^\[|\]$/g, ''));
    // A proxy has the usual port.
    return `${scheme}://${host}${hasPort || isBehindProxy ? '' : portOf(listened.port, scheme)}`;
  }
  const outside = interfaces.find(({ internal, family }) => !internal && family === 'IPv4')?.address;
  const host = everywhere.includes(listened.host) ? (outside ?? '127.0.0.1') : listened.host;
  return `${scheme}://${inUrl(host)}${portOf(listened.port, scheme)}`;
}

function portOf(port: number, scheme: string): string {
  return port === (scheme === 'https' ? 443 : 80) ? '' : `:${port}`;
}
