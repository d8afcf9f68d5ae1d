/** Where a server listens, as it is written. */
import { posix } from 'node:path';
import { isLoopback, unixPathIn } from '../../config/serve-places';
import { CaiError } from '../../errors';

export type ListenAddress =
  /** HTTP and WebSocket; `isTls`: by TLS of ours. */
  | { readonly kind: 'http'; readonly host: string; readonly port: number; readonly isTls: boolean }
  /** Lines over TCP, the token in the first. */
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number; readonly isTls: boolean }
  /** HTTP, WebSocket or lines, by a socket that only the user can open. */
  | { readonly kind: 'unix'; readonly path: string };

/**
 * Reads `HOST:PORT`, `PORT`, `http://HOST:PORT`, `https://HOST:PORT`, `tcp://HOST:PORT`, `tls://HOST:PORT` or
 * `unix:PATH`. Port 0: any that is free. `prefersTls`: without a scheme, it is https where other machines can come.
 * Throws `CaiError('USAGE')`.
 */
export function addressOf(text: string, cwd: string, prefersTls: boolean): ListenAddress {
  const unix = unixPathIn(text);
  if (unix !== undefined) return { kind: 'unix', path: posix.resolve(cwd, unix) };
  const [, scheme, rest = ''] = /^(?:(https?|tcp|tls):\/\/)?(.*?)\/?$/s.exec(text) ?? [];
  const [, host, port] = /^(?:(\[[\da-fA-F:.]+\]|[^:[\]/\s]+):)?(\d{1,5})$/.exec(rest) ?? [];
  if (port === undefined || Number(port) > 65_535)
    throw new CaiError(
      'USAGE',
      `"${text}" is no address to listen on: write HOST:PORT, https://HOST:PORT, tcp://HOST:PORT, tls://HOST:PORT or unix:PATH`,
    );
  const place = { host: (host ?? '127.0.0.1').replace(/^\[|\]$/g, ''), port: Number(port) };
  if (scheme === undefined) return { kind: 'http', ...place, isTls: prefersTls && !isLoopback(place.host) };
  return scheme.startsWith('http')
    ? { kind: 'http', ...place, isTls: scheme === 'https' }
    : { kind: 'tcp', ...place, isTls: scheme === 'tls' };
}

/** As clients write it. */
export function urlOf(address: ListenAddress): string {
  if (address.kind === 'unix') return `unix:${address.path}`;
  const { kind, host, port, isTls } = address;
  const scheme = kind === 'http' ? (isTls ? 'https' : 'http') : isTls ? 'tls' : 'tcp';
  return `${scheme}://${inUrl(host)}:${port}`;
}

export function inUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
