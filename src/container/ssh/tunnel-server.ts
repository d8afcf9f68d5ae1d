import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { pipeline } from 'node:stream';
import type { Duplex } from 'node:stream';

/** Where the connections of a server lead. */
export interface TunnelEnds {
  /** Port on 127.0.0.1 of this machine; 0: one that is free. */
  readonly local: number;
  /** A stream to the other end, for each connection. */
  readonly reach: () => Promise<Duplex>;
  /** Nothing answers at the other end; the connection was closed. */
  readonly onUnanswered: () => void;
}

/** Listens on a port of this machine for connections that lead elsewhere. Rejects with the system's error. */
export async function openTunnelServer(ends: TunnelEnds): Promise<Server> {
  // Each direction ends by itself, as with a connection that goes straight there.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => void join(socket, ends));
  server.listen(ends.local, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/** Joins two streams: each passes on what the other gives, and its end. Whoever is cut off cuts the other off. */
export function joinStreams(one: Duplex, other: Duplex): void {
  // The error itself is told to those at the ends.
  pipeline(one, other, () => undefined);
  pipeline(other, one, () => undefined);
}

async function join(socket: Socket, { reach, onUnanswered }: TunnelEnds): Promise<void> {
  socket.on('error', () => undefined);
  try {
    joinStreams(socket, await reach());
  } catch {
    socket.destroy();
    onUnanswered();
  }
}
