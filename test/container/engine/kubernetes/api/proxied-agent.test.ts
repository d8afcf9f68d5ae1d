import { once } from 'node:events';
import { createServer } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { ProxiedAgent } from '../../../../../src/container/engine/kubernetes/api/proxied-agent';

test('a request with a damaged certificate fails, as it does without a proxy', async () => {
  const proxy = createServer().on('connect', (_request, socket) => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  const { port } = proxy.address() as AddressInfo;
  const agent = new ProxiedAgent(new URL(`http://127.0.0.1:${port}`), 'https://cluster.example:6443');
  const sent = request({ agent, host: 'cluster.example', port: 6443, cert: 'damaged', key: 'damaged' });

  const [reason] = (await once(sent, 'error').catch((error: unknown) => [error])) as [Error];
  expect(reason.message).toMatch(/PEM/);
  proxy.closeAllConnections();
  proxy.close();
});
