/** How the socket comes about that leads to a server. */
import { connect, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { placeOfUrl } from '../../../config/host-rules';
import { tunnelTo } from '../../../network';
import type { Access } from '../access';
import type { Address } from '../address';
import { connectToSocketOf, connectToUser } from './other-end';

/** How long a server may take to open a socket, in milliseconds. */
export const openMs = 15_000;

type Done = (error: Error | null, socket?: Socket) => void;
/** `done` gets a socket, which may be still connecting, or what went wrong. */
export type Way = (to: ConnectionOptions & { host: string; port: number }, done: Done) => void;

/** How the server is reached where it is not simply connected to; undefined: it is. */
export function specialWay(address: Address, { onlyFor: uid, proxy }: Access): Way | undefined {
  const { socketPath } = address;
  if (proxy !== undefined) return tunnelThrough(proxy, address);
  if (socketPath === undefined)
    return uid === undefined ? undefined : (to, done) => connectToUser(to, { uid, limitMs: openMs }, done);
  if (uid === undefined) return (_to, done) => done(null, connect(socketPath));
  return (_to, done) => connectToSocketOf(uid, socketPath, done);
}

/** Through a proxy of the user, in TLS where the address says so. */
function tunnelThrough(proxy: URL, { url, isEncrypted }: Address): Way {
  const place = placeOfUrl(url.replace(/^ws/, 'http'))!;
  return (to, done) =>
    void tunnelTo(place, proxy, AbortSignal.timeout(openMs)).then(
      (tunnel) => done(null, isEncrypted ? connectTls({ ...to, path: undefined, ...tunnel }) : tunnel.socket),
      done,
    );
}
