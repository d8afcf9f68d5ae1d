/** The requests of a chat panel that knows no ACP, as docs/serve.md has them. */
import { resolve } from 'node:path';
import { ChatPanel, lineOf, rest } from '../../support/chat-panel';
import { Served } from '../../support/served';
import { newFolder } from '../../support/temp-folder';

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
let panel: ChatPanel;
let count = 0;

beforeAll(async () => (server = await Served.start({ agents, args: ['--chat', folder] })));
afterAll(() => server.end());

/** Conversations of each test. */
beforeEach(() => (panel = new ChatPanel(server.url, server.owner, `${++count}-`)));

test('a message is answered by lines, and a conversation is a session', async () => {
  const sessionId = expect.any(String) as string;
  const answer = [
    { type: 'text', content: 'echo: hello' },
    { type: 'done', stopReason: 'end_turn' },
  ];
  expect(await panel.ask('hello')).toEqual([
    { type: 'session', sessionId, cwd: folder, isNew: true },
    ...answer,
  ]);
  expect(await panel.ask('hello')).toEqual(answer);
  const before = await panel.metric('sessions');
  await panel.ask('hello', 'another');
  expect(await panel.metric('sessions')).toBe(before + 1);
});

test('a permission is a line, and is given by a second request', async () => {
  const lines = await panel.say('permission Go');
  const asked = await lineOf(lines, 'permission');
  const [{ optionId }] = asked.options as [{ optionId: string }];
  await panel.post('permission', { composerId: 'c', permissionId: asked.permissionId, optionId });

  expect(await rest(lines)).toEqual([
    { type: 'text', content: `permission: ${optionId}` },
    { type: 'done', stopReason: 'end_turn' },
  ]);
});

test('a panel that cancels, or leaves, ends the turn', async () => {
  const lines = await panel.say('hello; wait');
  await lineOf(lines, 'text');
  await panel.post('cancel', { composerId: 'c' });
  expect((await rest(lines)).at(-1)).toEqual({ type: 'done', stopReason: 'cancelled' });

  const leaving = new AbortController();
  const again = await panel.say('hello; wait', 'c', {}, leaving.signal);
  await lineOf(again, 'text');
  const before = await panel.metric('turn_seconds_count');
  leaving.abort();
  while ((await panel.metric('turn_seconds_count')) === before);
  expect((await panel.ask('still there?')).at(-1)).toMatchObject({ type: 'done' });
});

test('what cannot be served is said', async () => {
  expect((await panel.post('sendMessage', { composerId: 'c' })).status).toBe(400);
  expect((await panel.post('sendMessage', { composerId: 'c', message: 'm', provider: 'x' })).status).toBe(
    400,
  );
  expect((await panel.post('sendMessage', { composerId: 'c'.repeat(257), message: 'm' })).status).toBe(400);
  expect((await panel.post('sendMessage', {}, { 'content-type': 'text/plain' })).status).toBe(415);
  expect((await panel.post('nothing', {})).status).toBe(404);
  expect((await panel.post('cancel', {}, { authorization: 'Bearer wrong' })).status).toBe(401);
  expect(
    (await panel.post('sendMessage', { composerId: 'c', message: 'm', provider: { id: 'acp:x' } })).status,
  ).toBe(403);
  expect(await panel.ask('hello', 'd', { cwd: '/no/such/folder' })).toMatchObject([
    { type: 'error', message: expect.stringContaining('does not exist') as string },
  ]);
});

test('a server outlives the conversation that is cancelled while it cannot be opened', async () => {
  const failing = panel.say('hello', 'd', { cwd: '/no/such/folder' });
  await Promise.all([panel.post('cancel', { composerId: 'd' }), failing]);
  await rest(await failing);

  expect((await panel.ask('still there?')).at(-1)).toMatchObject({ type: 'done' });
});

test('a server outlives whatever an agent writes', async () => {
  const provider = { id: 'acp:odd' };
  const kinds = [5, { toString: 1 }].map((sessionUpdate) => ({ sessionUpdate }));
  const updates = [undefined, null, 5, {}, ...kinds, { sessionUpdate: 'agent_message_chunk', content: null }];

  for (const update of updates) {
    const lines = await panel.ask(JSON.stringify({ update }), 'c', { provider });
    expect(lines.at(-1)).toEqual({ type: 'done', stopReason: 'end_turn' });
  }
  expect((await panel.ask('fail', 'c', { provider })).at(-1)).toMatchObject({ type: 'error' });
});

test('the first agent is the same with and without its name', async () => {
  await panel.ask('hello');
  const figures = async () => [await panel.metric('connections'), await panel.metric('sessions')];
  const before = await figures();
  await panel.ask('again', 'c', { provider: { id: 'acp:mock' } });

  expect(await figures()).toEqual(before);
});

test('what stands for nothing is not there', async () => {
  const permission = { composerId: 'c', permissionId: '1', optionId: 'allow' };

  expect((await panel.post('cancel', { composerId: 'c' })).status).toBe(404);
  expect((await panel.post('permission', permission)).status).toBe(404);
  await panel.ask('hello');
  expect((await panel.post('cancel', { composerId: 'd' })).status).toBe(404);
  expect((await panel.post('permission', permission)).status).toBe(404);
  expect((await panel.post('cancel', { composerId: 'c' })).status).toBe(200);
});

test('conversations that nobody has used for the longest time make room', async () => {
  // The sessions of the server are counted.
  const alone = await Served.start({ agents, args: ['--chat', folder] });
  panel = new ChatPanel(alone.url, alone.owner);
  const open = await panel.say('hello; wait', 'waits');
  await lineOf(open, 'text');
  for (let count = 0; count < 33; count++) await panel.ask('hello', String(count));
  while ((await panel.metric('sessions')) > 32);

  expect((await panel.post('cancel', { composerId: '0' })).status).toBe(404);
  expect((await panel.post('cancel', { composerId: '1' })).status).toBe(404);
  expect((await panel.post('cancel', { composerId: '2' })).status).toBe(200);
  await panel.post('cancel', { composerId: 'waits' });
  expect((await rest(open)).at(-1)).toEqual({ type: 'done', stopReason: 'cancelled' });
  await panel.ask('hello', '0');
  await alone.end();
});

test('without --chat there is nothing', async () => {
  const without = await Served.start({ agents });
  const nothing = new ChatPanel(without.url, without.owner);

  expect((await nothing.post('sendMessage', { composerId: 'c', message: 'm' })).status).toBe(404);
  await without.end();
});
