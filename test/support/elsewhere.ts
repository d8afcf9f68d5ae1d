/** Servers that are on no machine of ours: by TLS, through a proxy that leads to them whatever they are called. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as secureServer } from 'node:https';
import { connect, type AddressInfo, type Socket } from 'node:net';
import type { HostNetwork } from '../../src/config/config';
import type { certificate } from './certificate';

const open: { close(): unknown; closeAllConnections(): void }[] = [];
afterEach(() => {
  for (const server of open.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

/**
 * The network in which a proxy leads to one, whatever it is asked for; `status`: what the proxy says. Ends with the
 * test.
 */
export async function elsewhere(
  made: ReturnType<typeof certificate>,
  answer: RequestListener = (_from, to) => to.writeHead(404).end(),
  status = 200,
): Promise<{ network: HostNetwork; asked: string[] }> {
  const asked: string[] = [];
  const server = secureServer({ cert: made.cert, key: readFileSync(made.keyFile) }, answer);
  server.listen(0, '127.0.0.1');
  const proxy = createServer().on('connect', (from, socket: Socket) => {
    asked.push(`${from.url} ${from.headers['proxy-authorization']}`);
    socket.write(`HTTP/1.1 ${status} It\r\n\r\n`);
    if (status !== 200) socket.end();
    const onward = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.pipe(onward).pipe(socket);
    for (const end of [socket, onward])
      end.on('error', () => onward.destroy()).on('close', () => onward.destroy());
  });
  proxy.listen(0, '127.0.0.1');
  for (const each of [server, proxy]) if (!each.listening) await once(each, 'listening');
  open.push(server, proxy);
  const httpsProxy = `http://u:p@127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  return { network: { httpsProxy }, asked };
}
