import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { hastened } from '../../../support/hastened';
import { Served } from '../../../support/served';
import { StreamableClient } from '../../../support/streamable';

/** By configuration. */
const servers = new Map<string, Served>();
let server: Served;
let client: StreamableClient;

async function start(config = '', more: NodeJS.ProcessEnv = {}): Promise<void> {
  const env = { CAI_LOG_LEVEL: 'info', ...more };
  server = servers.get(config) ?? (await Served.start({ config, env }));
  servers.set(config, server);
  client = new StreamableClient(server, 'flood');
}

afterAll(() => Promise.all([...servers.values()].map((each) => each.end())));

/** A turn that brings so many updates: its numbers follow the last ones. */
async function flood(sessionId: string, count: number, bytes = 500): Promise<void> {
  await client.prompt(sessionId, `${count} ${bytes}`);
}

test('numbers its events from 1, and each stream for itself', async () => {
  await start();
  const { sessionId, session, connection } = await client.open();
  await flood(sessionId, 2);

  const ids = [await session.next(), await session.next(), await session.next()].map((event) => event!.id);
  expect(ids).toEqual([1, 2, 3]);
  await client.post({ id: 'x', method: '_none' });
  // The answers to initialize, which needed no stream, and to session/new.
  expect((await connection.next())!.id).toBe(3);
});

test('is told not to be held back by proxies', async () => {
  await start();
  const { session } = await client.open();

  expect(Object.fromEntries(session.response.headers)).toMatchObject({
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
});

test('goes on behind Last-Event-ID, and without it behind what was sent', async () => {
  await start();
  const { sessionId, session } = await client.open();
  await flood(sessionId, 4);
  for (let n = 0; n < 5; n++) await session.next();
  await session.cancel();

  const again = await client.events(sessionId, 2);
  expect([(await again.next())!.id, (await again.next())!.id, (await again.next())!.id]).toEqual([3, 4, 5]);
  await again.cancel();
  const third = await client.events(sessionId);
  await flood(sessionId, 1);
  expect((await third.next())!.id).toBe(6);
});

test('ends when another one takes its place', async () => {
  await start();
  const { sessionId, session } = await client.open();
  const other = await client.events(sessionId);

  expect(await session.next()).toBeUndefined();
  await flood(sessionId, 1);
  expect((await other.next())!.id).toBe(1);
});

test('is answered 410 for what is no longer kept, and 400 for what never was', async () => {
  await start('[serve]\nkeep_messages = 3');
  const { sessionId, session } = await client.open();
  await flood(sessionId, 9);
  for (let n = 0; n < 10; n++) await session.next();
  await session.cancel();

  expect((await client.events(sessionId, 2)).response.status).toBe(410);
  expect((await client.events(sessionId, 99)).response.status).toBe(400);
  const headers = { accept: 'text/event-stream', 'last-event-id': 'x' };
  expect((await client.send('GET', headers)).status).toBe(400);
  expect((await (await client.events(sessionId, 9)).next())!.id).toBe(10);
});

test('of a client that does not read is cut after serve.stall', async () => {
  await start('[serve]\nstall = "10s"', { ...hastened, CAI_HASTEN_ONLY: 'serve' });
  const { sessionId, session } = await client.open();
  await session.cancel();
  const headers = { ...server.owner, 'acp-connection-id': client.id, 'acp-session-id': sessionId };
  const url = `${server.url}/acp`;
  const request = get(url, { headers: { ...headers, accept: 'text/event-stream' }, agent: false });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.pause().on('error', () => undefined);
  server.stderr = '';
  await flood(sessionId, 4_000, 4_000);

  await server.said(/"method":"GET","path":"\/acp","status":200/);
  // The client may come back.
  expect((await client.post({ method: 'session/cancel', params: { sessionId } })).status).toBe(202);
  request.destroy();
});
