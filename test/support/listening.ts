/** Servers that end with the test that has started them. */
import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';

const servers: Server[] = [];
const sockets = new Set<Socket>();
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  for (const server of servers.splice(0)) server.close();
});

/** Has a server listen on a port of this machine that is free, with which it resolves. */
export async function listening(server: Server): Promise<number> {
  servers.push(server.on('connection', (socket) => sockets.add(socket)).listen(0, '127.0.0.1'));
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}
