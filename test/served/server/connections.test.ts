import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import { hastened } from '../../support/hastened';
import { Served } from '../../support/served';
import { StreamableClient } from '../../support/streamable';

/** With the usual settings. */
let usual: Served;
let server: Served;
beforeAll(async () => (usual = await Served.start()));
beforeEach(() => (server = usual));
afterEach(async () => void (server !== usual && (await server.end())));
afterAll(() => usual.end());

test('are as many as the configuration allows', async () => {
  server = await Served.start({ config: '[serve]\nconnections = 1' });
  const [one, two] = [new StreamableClient(server), new StreamableClient(server)];
  await one.initialize();
  const refused = await two.initialize();

  expect(refused.status).toBe(503);
  expect(await refused.text()).toContain('("serve.connections" in its configuration): end one');
  const connection = await one.events();
  await one.send('DELETE');
  expect(await connection.next()).toBeUndefined();
  // The process that ends counts until it is gone.
  while ((await two.initialize()).status === 503);
  expect(two.id).toBeDefined();
});

test('are to the agent that is named, or to the first that is served', async () => {
  const nameOf = async (path: string): Promise<unknown> => {
    const client = new StreamableClient(server);
    const body = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}';
    const response = await client.send('POST', { 'content-type': 'application/json' }, body, path);
    if (!response.ok) return [response.status, await response.text()];
    const { result } = (await response.json()) as { result: { agentInfo?: { name: string } } };
    return result.agentInfo?.name;
  };

  expect(await nameOf('/acp')).toBe('mock-acp-server');
  expect(await nameOf('/acp?agent=flood')).toBeUndefined();
  expect(await nameOf('/acp?agent=claude')).toEqual([
    403,
    'this server has no agent "claude" for you; it has: mock, flood\n',
  ]);
});

test('are ended when nothing passes for long', async () => {
  // It looks for those at intervals.
  const env = { ...hastened, CAI_HASTEN_INTERVALS: '1' };
  server = await Served.start({ config: '[serve]\nidle = "2s"', env });
  const client = new StreamableClient(server);
  await client.initialize();
  const connection = await client.events();

  expect(await connection.next()).toBeUndefined();
  expect((await client.send('DELETE')).status).toBe(404);
});

test('know no connection of another kind', async () => {
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/acp`, { headers: server.owner });
  const [{ headers }] = (await once(socket, 'upgrade')) as [IncomingMessage];
  const client = new StreamableClient(server);
  client.id = headers['acp-connection-id'] as string;

  expect((await client.send('GET', { accept: 'text/event-stream' })).status).toBe(404);
  socket.terminate();
});

test('are refused with agents that do not exist before the server listens', async () => {
  await expect(Served.start({ args: ['--agent', 'none'] })).rejects.toThrow('none');
});
