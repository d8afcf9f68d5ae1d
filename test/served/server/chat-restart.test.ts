/** Conversations of chat panels outlive the server, and what else their sessions are lost by. */
import { once } from 'node:events';
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KeptConversations } from '../../../src/served/server/chat/kept-conversations';
import { Tokens } from '../../../src/served/server/door';
import { Host } from '../../../src/system/host';
import { ChatPanel, chatsAgent, type Json } from '../../support/chat-panel';
import { servedInEachTest, type Served } from '../../support/served';
import { newFolder } from '../../support/temp-folder';
import { openLog } from '../../../src/system/log';

const start = servedInEachTest();
const folder = newFolder();
const done = { type: 'done', stopReason: 'end_turn' };
const both = { loadSession: true, sessionCapabilities: { resume: {} } };

/** A server whose agent keeps its sessions in a folder. */
async function serve(options: Json, config = ''): Promise<[Served, ChatPanel]> {
  const agents = { chats: chatsAgent(options) };
  const server = await start({ agents, args: ['--chat', folder], config });
  return [server, new ChatPanel(server.url, server.owner)];
}

/** The same server once more. */
async function again(first: Served): Promise<ChatPanel> {
  first.process.kill('SIGTERM');
  await once(first.process, 'close');
  const second = await start({ agents: { chats: [] }, args: ['--chat', folder], env: { HOME: first.home } });
  return new ChatPanel(second.url, first.owner);
}

function textOf(lines: readonly Json[]): Json {
  const { content } = lines.find(({ type }) => type === 'text') ?? {};
  return JSON.parse(content as string) as Json;
}

test.each([
  ['loaded', { loadSession: true }, ['session/resume']],
  ['resumed, which is preferred', both, ['session/load']],
])('after a restart a session is %s', async (_, capabilities, broken) => {
  const [server, panel] = await serve({ capabilities, broken, keep: newFolder() });
  const [opened] = await panel.ask('first');
  const answer = await (await again(server)).ask('second');

  expect(answer[0]).toEqual({ type: 'session', sessionId: opened!.sessionId, cwd: folder, isNew: false });
  expect(answer.map(({ type }) => type)).toEqual(['session', 'text', 'done']);
  expect(textOf(answer).before).toBe(1);
});

test('a session that cannot be opened again is replaced in its folder, and the panel is told why', async () => {
  const [server, panel] = await serve({});
  const cwd = newFolder();
  const [opened] = await panel.ask('first', 'c', { cwd });
  const later = await again(server);
  const answer = await later.ask('second');

  expect(answer[0]).toMatchObject({
    type: 'session',
    isNew: true,
    cwd,
    message: expect.stringContaining('cannot open') as string,
  });
  expect(answer[0]!.sessionId).not.toBe(opened!.sessionId);
  expect(answer.at(-1)).toEqual(done);
  expect((await later.ask('third'))[0]).toMatchObject({ type: 'text' });
});

test('a session that its agent has lost is replaced', async () => {
  const keep = newFolder();
  const [server, panel] = await serve({ capabilities: both, keep });
  await panel.ask('first');
  rmSync(keep, { recursive: true });
  mkdirSync(keep);
  const answer = await (await again(server)).ask('second');

  expect(answer[0]).toMatchObject({
    isNew: true,
    message: expect.stringContaining('Resource not found') as string,
  });
  expect(textOf(answer).before).toBe(0);
});

test('a session that another server has open is not replaced', async () => {
  const [server, panel] = await serve({ capabilities: both, keep: newFolder() });
  await panel.ask('first');
  const second = await start({ agents: { chats: [] }, args: ['--chat', folder], env: { HOME: server.home } });
  const other = new ChatPanel(second.url, server.owner);
  const elsewhere = expect.stringContaining('open in another server') as string;
  expect(await other.ask('second')).toEqual([{ type: 'error', message: elsewhere }]);

  server.process.kill('SIGTERM');
  await once(server.process, 'close');
  expect((await other.ask('third'))[0]).toMatchObject({ type: 'session', isNew: false });
});

test('an agent that has ended and cannot open sessions gets a new one with the next message', async () => {
  const mock = [process.execPath, join(__dirname, '../../../fixtures/mock-acp-server'), '--acp'];
  const server = await start({ agents: { mock }, args: ['--chat', folder] });
  const panel = new ChatPanel(server.url, server.owner);
  expect((await panel.ask('exit 1')).at(-1)).toMatchObject({ type: 'error' });

  const answer = await panel.ask('hello');
  expect(answer[0]).toMatchObject({ type: 'session', isNew: true, message: expect.anything() as string });
  expect(answer.slice(1)).toEqual([{ type: 'text', content: 'echo: hello' }, done]);
});

test('a conversation that has made room is loaded by its next message', async () => {
  const [, panel] = await serve({ capabilities: both, keep: newFolder() });
  for (let count = 0; count < 33; count++) await panel.ask('hello', String(count));
  const answer = await panel.ask('again', '0');

  expect(answer[0]).toMatchObject({ type: 'session', isNew: false });
  expect(textOf(answer).before).toBe(1);
});

test('what nobody may remember is not kept', async () => {
  const [server, panel] = await serve(
    { capabilities: both, keep: newFolder() },
    '[sessions]\npersist = false\n',
  );
  await panel.ask('first');

  expect(readdirSync(join(server.stateFolder, 'containai/serve'))).not.toContain('chats');
});

test('two people have the same id for different conversations', async () => {
  const users = '[[serve.users]]\nname = "ann"\nagents = "all"\nworkspaces = "all"\n';
  const [server, panel] = await serve({ capabilities: both, keep: newFolder() }, users);
  const token = await new Tokens(new Host({ HOME: server.home })).add('ann');
  const authorization = `Bearer ${token}`;
  await panel.ask('mine');
  const answer = await new ChatPanel(server.url, { authorization }).ask('hers');

  expect(answer[0]).toMatchObject({ isNew: true });
  expect(textOf(answer).before).toBe(0);
});

describe('the file', () => {
  const log = openLog({ CAI_LOG_FILE: join(newFolder(), 'log') });
  const session = (sessionId: string) => ({ sessionId, cwd: '/src' });

  test('keeps the last conversations, for the user alone, and is shared by servers', () => {
    const file = join(newFolder(), 'chats/a.json');
    mkdirSync(join(file, '..'));
    const conversations = Array.from({ length: 1_000 }, (_, count) => [String(count), session('s')]);
    writeFileSync(file, JSON.stringify({ conversations }));
    const [one, two] = [new KeptConversations(file, log), new KeptConversations(file, log)];
    one.keep('0', session('again'));
    two.keep('new', session('t'));

    expect(one.find('0')).toEqual(session('again'));
    expect(one.find('1')).toBeUndefined();
    expect(one.find('new')).toEqual(session('t'));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(file, '..'))).toHaveLength(1);
  });

  test.each([
    '',
    '{',
    '[]',
    '{"conversations":{}}',
    '{"conversations":[null,["c"],["c",null],["c",{"cwd":5}]]}',
  ])('that is damaged is replaced: %s', (text) => {
    const file = join(newFolder(), 'a.json');
    writeFileSync(file, text);
    const kept = new KeptConversations(file, log);
    expect(kept.find('c')).toBeUndefined();
    kept.keep('c', session('s'));

    expect(kept.find('c')).toEqual(session('s'));
  });

  test('that cannot be written keeps nobody from a conversation', () => {
    const place = newFolder();
    writeFileSync(join(place, 'chats'), '');
    const kept = new KeptConversations(join(place, 'chats/a.json'), log);

    expect(() => kept.keep('c', session('s'))).not.toThrow();
    expect(kept.find('c')).toBeUndefined();
  });
});
