/** The requests of a chat panel that knows no ACP, as docs/serve.md has them. */
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { Served } from '../../support/served';
import { newFolder } from '../../support/temp-folder';

type Json = Readonly<Record<string, unknown>>;

const mock = resolve(__dirname, '../../../fixtures/mock-acp-server');
/** Writes each prompt as an update, whatever it is; one that is no JSON fails with what nobody could read. */
const odd = `
  const send = (m) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...m }) + '\\n');
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    const error = { code: -32603, message: { toString: 1 } };
    if (method !== 'session/prompt') return send({ id, result: { protocolVersion: 1, sessionId: 's' } });
    const { sessionId, prompt: [{ text }] } = params;
    if (text === 'fail') return send({ id, error });
    send({ method: 'session/update', params: { sessionId, ...JSON.parse(text) } });
    send({ id, result: { stopReason: 'end_turn' } });
  });
`;
const agents = { mock: [process.execPath, mock, '--acp'], odd: [process.execPath, '-e', odd] };
const folder = newFolder();

let server: Served;

async function start(...args: string[]): Promise<void> {
  server = await Served.start({ agents, args });
}

afterEach(() => server.end());

async function post(
  path: string,
  body: Json,
  headers: Record<string, string> = {},
  signal?: AbortSignal,
): Promise<Response> {
  return await fetch(`${server.url}/acp/${path}`, {
    method: 'POST',
    headers: { ...server.owner, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    signal: signal ?? null,
  });
}

/** Sends a message; the lines of the answer come one by one. */
async function say(
  message: string,
  composerId = 'c',
  more: Json = {},
  signal?: AbortSignal,
): Promise<AsyncIterator<Json>> {
  const { body } = await post('sendMessage', { composerId, message, ...more }, {}, signal);
  // What comes before somebody reads is kept from here on.
  const lines = createInterface(Readable.fromWeb(body as never))[Symbol.asyncIterator]();
  return (async function* () {
    for await (const line of { [Symbol.asyncIterator]: () => lines }) yield JSON.parse(line) as Json;
  })();
}

async function rest(lines: AsyncIterator<Json>): Promise<Json[]> {
  const all: Json[] = [];
  for (let next = await lines.next(); next.done !== true; next = await lines.next()) all.push(next.value);
  return all;
}

async function metric(name: string): Promise<number> {
  const metrics = await fetch(`${server.url}/metrics`, { headers: server.owner });
  return Number(new RegExp(`^cai_serve_${name} (\\d+)$`, 'm').exec(await metrics.text())![1]);
}

test('a message is answered by lines, and a conversation is a session', async () => {
  await start('--chat', folder);

  expect(await rest(await say('hello'))).toEqual([
    { type: 'text', content: 'echo: hello' },
    { type: 'done', stopReason: 'end_turn' },
  ]);
  await rest(await say('again'));
  expect(await metric('sessions')).toBe(1);
  await rest(await say('hello', 'another'));
  expect(await metric('sessions')).toBe(2);
});

test('a permission is a line, and is given by a second request', async () => {
  await start('--chat', folder);
  const lines = await say('permission Go');
  let asked = (await lines.next()).value as Json;
  while (asked.type !== 'permission') asked = (await lines.next()).value as Json;
  const [{ optionId }] = asked.options as [{ optionId: string }];
  await post('permission', { composerId: 'c', permissionId: asked.permissionId, optionId });

  expect(await rest(lines)).toEqual([
    { type: 'text', content: `permission: ${optionId}` },
    { type: 'done', stopReason: 'end_turn' },
  ]);
});

test('a panel that cancels, or leaves, ends the turn', async () => {
  await start('--chat', folder);
  const lines = await say('hello; wait');
  await lines.next();
  await post('cancel', { composerId: 'c' });
  expect((await rest(lines)).at(-1)).toEqual({ type: 'done', stopReason: 'cancelled' });

  const leaving = new AbortController();
  const again = await say('hello; wait', 'c', {}, leaving.signal);
  await again.next();
  const before = await metric('turn_seconds_count');
  leaving.abort();
  while ((await metric('turn_seconds_count')) === before);
  expect((await rest(await say('still there?'))).at(-1)).toMatchObject({ type: 'done' });
});

test('what cannot be served is said', async () => {
  await start('--chat', folder);

  expect((await post('sendMessage', { composerId: 'c' })).status).toBe(400);
  expect((await post('sendMessage', {}, { 'content-type': 'text/plain' })).status).toBe(415);
  expect((await post('nothing', {})).status).toBe(404);
  expect((await post('cancel', {}, { authorization: 'Bearer wrong' })).status).toBe(401);
  expect(
    (await post('sendMessage', { composerId: 'c', message: 'm', provider: { id: 'acp:x' } })).status,
  ).toBe(403);
  expect(await rest(await say('hello', 'd', { cwd: '/no/such/folder' }))).toMatchObject([
    { type: 'error', message: expect.stringContaining('does not exist') as string },
  ]);
});

test('a server outlives the conversation that is cancelled while it cannot be opened', async () => {
  await start('--chat', folder);
  const failing = say('hello', 'd', { cwd: '/no/such/folder' });
  await Promise.all([post('cancel', { composerId: 'd' }), failing]);
  await rest(await failing);

  expect((await rest(await say('still there?'))).at(-1)).toMatchObject({ type: 'done' });
});

test('a server outlives whatever an agent writes', async () => {
  await start('--chat', folder);
  const provider = { id: 'acp:odd' };
  const kinds = [5, { toString: 1 }].map((sessionUpdate) => ({ sessionUpdate }));
  const updates = [undefined, null, 5, {}, ...kinds, { sessionUpdate: 'agent_message_chunk', content: null }];

  for (const update of updates) {
    const lines = await rest(await say(JSON.stringify({ update }), 'c', { provider }));
    expect(lines.at(-1)).toEqual({ type: 'done', stopReason: 'end_turn' });
  }
  expect((await rest(await say('fail', 'c', { provider }))).at(-1)).toMatchObject({ type: 'error' });
});

test('the first agent is the same with and without its name', async () => {
  await start('--chat', folder);
  await rest(await say('hello'));
  await rest(await say('again', 'c', { provider: { id: 'acp:mock' } }));

  expect([await metric('connections'), await metric('sessions')]).toEqual([1, 1]);
});

test('what stands for nothing is not there', async () => {
  await start('--chat', folder);
  const permission = { composerId: 'c', permissionId: '1', optionId: 'allow' };

  expect((await post('cancel', { composerId: 'c' })).status).toBe(404);
  expect((await post('permission', permission)).status).toBe(404);
  await rest(await say('hello'));
  expect((await post('cancel', { composerId: 'd' })).status).toBe(404);
  expect((await post('permission', permission)).status).toBe(404);
  expect((await post('cancel', { composerId: 'c' })).status).toBe(200);
});

test('conversations that nobody has used for the longest time make room', async () => {
  await start('--chat', folder);
  const open = await say('hello; wait', 'waits');
  await open.next();
  for (let count = 0; count < 33; count++) await rest(await say('hello', String(count)));
  while ((await metric('sessions')) > 32);

  expect((await post('cancel', { composerId: '0' })).status).toBe(404);
  expect((await post('cancel', { composerId: '1' })).status).toBe(404);
  expect((await post('cancel', { composerId: '2' })).status).toBe(200);
  await post('cancel', { composerId: 'waits' });
  expect((await rest(open)).at(-1)).toEqual({ type: 'done', stopReason: 'cancelled' });
  await rest(await say('hello', '0'));
});

test('without --chat there is nothing', async () => {
  await start();

  expect((await post('sendMessage', { composerId: 'c', message: 'm' })).status).toBe(404);
});
