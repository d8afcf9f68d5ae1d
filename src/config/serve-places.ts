/** Where a server of this machine is found if nobody says otherwise: by `cai serve` and `cai connect` alike. */
import { isIP } from 'node:net';
import { posix } from 'node:path';
import type { Host } from '../system/host';

/** The port of HTTP, at 127.0.0.1. */
export const servePort = 8722;

/** The same, where chat panels are answered: those of Cursor look there. */
export const chatPort = 37842;

/** Whether an address, or `localhost`, leads to this machine alone, whoever resolves it. */
export function isLoopback(host: string): boolean {
  const plain = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  if (plain === 'localhost' || plain === '::1') return true;
  return isIP(plain) === 4 && plain.startsWith('127.');
}

/** The path behind `unix:`, with or without slashes; undefined for any other address. */
export function unixPathIn(address: string): string | undefined {
  return /^unix:(?:\/\/)?(.+)$/s.exec(address)?.[1];
}

/** The socket that only the user can open. */
export function serveSocket({ folders: { runtime, state } }: Host): string {
  return posix.join(runtime ?? posix.join(state, 'serve'), 'serve.sock');
}

/** What servers keep: tokens, and which of them has a session open. It is the user's alone. */
export function serveFolder({ folders: { state } }: Host): string {
  return posix.join(state, 'serve');
}

/** The user's own token. */
export function ownTokenFile(host: Host): string {
  return posix.join(serveFolder(host), 'token');
}
