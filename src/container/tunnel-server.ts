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

/** Whoever ends either side with an error ends the other. */
async function join(socket: Socket, { reach, onUnanswered }: TunnelEnds): Promise<void> {
  socket.on('error', () => undefined);
  try {
    const tunnel = await reach();
    // Each destroys both when one is cut off; the error itself is told to those at the ends.
    pipeline(socket, tunnel, () => undefined);
    pipeline(tunnel, socket, () => undefined);
  } catch {
    socket.destroy();
    onUnanswered();
  }
}
