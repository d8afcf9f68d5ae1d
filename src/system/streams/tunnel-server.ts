import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { pipeline, type Duplex } from 'node:stream';

/**
 * Listens on a port of 127.0.0.1 (0: one that is free) for connections that lead elsewhere: `reach` gives the other end
 * of each; where it gives none the connection is closed, and `onUnanswered` told. Rejects with the system's error.
 */
export async function openTunnelServer(
  local: number,
  reach: () => Promise<Duplex>,
  onUnanswered: () => void,
): Promise<Server> {
  // Each direction ends by itself, as with a connection that goes straight there.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    socket.on('error', () => undefined);
    reach().then(
      (other) => joinStreams(socket, other),
      () => {
        socket.destroy();
        onUnanswered();
      },
    );
  });
  server.listen(local, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/** Joins two streams: each passes on what the other gives, and its end. Whoever is cut off cuts the other off. */
export function joinStreams(one: Duplex, other: Duplex): void {
  // The error itself is told to those at the ends.
  pipeline(one, other, () => undefined);
  pipeline(other, one, () => undefined);
}
