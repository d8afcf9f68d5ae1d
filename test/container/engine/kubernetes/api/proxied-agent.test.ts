import { once } from 'node:events';
import { createServer } from 'node:http';
import { request } from 'node:https';
import { ProxiedAgent } from '../../../../../src/container/engine/kubernetes/api/proxied-agent';
import { listening } from '../../../../support/listening';

test('a request with a damaged certificate fails, as it does without a proxy', async () => {
  const proxy = createServer().on('connect', (_request, socket) => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
  const place = { host: 'cluster.example', port: 6443 };
  const agent = new ProxiedAgent(new URL(`http://127.0.0.1:${await listening(proxy)}`), place);
  const sent = request({ agent, ...place, cert: 'damaged', key: 'damaged' });

  const [reason] = (await once(sent, 'error').catch((error: unknown) => [error])) as [Error];
  expect(reason.message).toMatch(/PEM/);
});
