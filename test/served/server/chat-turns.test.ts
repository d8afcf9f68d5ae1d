/** A new message of a chat panel while a turn runs, and an agent that does not end its turn. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { methods } from '@agentclientprotocol/sdk';
import { ChatPanel, chatsAgent, lineOf, rest, sdkEditor, type Json } from '../../support/chat-panel';
import { hastened } from '../../support/hastened';
import { Served } from '../../support/served';
import { newFolder } from '../../support/temp-folder';

const folder = newFolder();
const cancelled = { type: 'done', stopReason: 'cancelled' };
const wait = JSON.stringify({ updates: [thought('waits')], wait: true });
const hold = JSON.stringify({ updates: [thought('holds')], hold: true });
const release = JSON.stringify({ release: true });
const deaf = JSON.stringify({ updates: [thought('hears nothing')], deaf: true });
let server: Served;
let panel: ChatPanel;

/** One for each way to start it. */
const servers = new Map<string, Served>();
let count = 0;

afterAll(() => Promise.all([...servers.values()].map((each) => each.end())));

/** Takes the server that is started so, with conversations of this test alone. */
async function start(options: Json = {}, env: NodeJS.ProcessEnv = {}): Promise<void> {
  const name = JSON.stringify([options, env]);
  const agents = { chats: chatsAgent(options) };
  server = servers.get(name) ?? (await Served.start({ agents, args: ['--chat', folder], env }));
  servers.set(name, server);
  panel = new ChatPanel(server.url, server.owner, `${++count}-`);
}

function thought(text: string): Json {
  return { sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text } };
}

/** What the agent has heard in the session before this message. */
function before(lines: readonly Json[]): unknown {
  const { content } = lines.find(({ type }) => type === 'text') ?? {};
  return (JSON.parse(content as string) as Json).before;
}

test('a new message ends the turn that runs, and is sent once the agent has ended it', async () => {
  await start();
  const first = await panel.say(wait);
  await lineOf(first, 'thought');
  const second = await panel.ask('second');

  expect(await rest(first)).toEqual([cancelled]);
  expect(before(second)).toBe(1);
  expect(second.at(-1)).toEqual({ type: 'done', stopReason: 'end_turn' });
});

test('of several new messages the last one is sent, and the others are cancelled at once', async () => {
  await start();
  const first = await panel.say(hold);
  await lineOf(first, 'thought');
  const others = [await panel.say('second'), await panel.say('third'), await panel.say('fourth')];
  expect(await rest(others[0]!)).toEqual([cancelled]);
  expect(await rest(others[1]!)).toEqual([cancelled]);
  await panel.ask(release, 'other');

  expect(await rest(first)).toEqual([cancelled]);
  const fourth = await rest(others[2]!);
  expect(JSON.stringify(fourth)).toContain('fourth');
  expect(before(fourth)).toBe(1);
});

test('a permission that is asked for in a turn that ends is not given', async () => {
  await start();
  const first = await panel.say(JSON.stringify({ ask: 'Go on' }));
  const { permissionId } = await lineOf(first, 'permission');
  await panel.ask('second');

  expect(await rest(first)).toEqual([{ type: 'text', content: '{"outcome":"cancelled"}' }, cancelled]);
  const decision = { composerId: 'c', permissionId, optionId: 'yes' };
  expect((await panel.post('permission', decision)).status).toBe(404);
});

test('a permission that is asked for after that is not given either', async () => {
  await start();
  const first = await panel.say(JSON.stringify({ updates: [thought('waits')], wait: true, ask: 'Go on' }));
  await lineOf(first, 'thought');
  await panel.ask('second');

  expect(await rest(first)).toEqual([{ type: 'text', content: '{"outcome":"cancelled"}' }, cancelled]);
});

test('of messages to a conversation that is being opened, the last one is sent', async () => {
  // No other test has this server, so the first conversation waits for its agent to start.
  await start({ capabilities: {} });
  const messages = [await panel.say('first'), await panel.say('second')];
  const [first, second] = await Promise.all(messages.map(rest));

  expect(first).toEqual([cancelled]);
  expect(second!.map(({ type }) => type)).toEqual(['session', 'text', 'done']);
  expect(before(second!)).toBe(0);
});

test('what waits is not sent once it is cancelled', async () => {
  await start();
  const first = await panel.say(hold);
  await lineOf(first, 'thought');
  const second = await panel.say('second');
  await panel.post('cancel', { composerId: 'c' });
  expect(await rest(second)).toEqual([cancelled]);
  await panel.ask(release, 'other');
  expect(await rest(first)).toEqual([cancelled]);

  expect(before(await panel.ask('third'))).toBe(1);
});

test('a panel that leaves takes its own message back, and no other', async () => {
  await start();
  const leaving = [new AbortController(), new AbortController()] as const;
  const first = await panel.say(hold, 'c', {}, leaving[0].signal);
  await lineOf(first, 'thought');
  await panel.say('second', 'c', {}, leaving[1].signal);
  leaving[1].abort();
  const third = await panel.say('third');
  leaving[0].abort();
  await panel.ask(release, 'other');

  expect(before(await rest(third))).toBe(1);
});

test.each([[{}], [{ sessionCapabilities: { close: {} } }]])(
  'a session whose agent does not end its turn is closed, and the next message goes on: %j',
  async (capabilities) => {
    await start({ capabilities }, hastened);
    const first = await panel.say(deaf);
    await lineOf(first, 'thought');
    const second = await panel.ask('second');
    const third = await panel.ask('third');

    expect((await rest(first)).at(-1)).toMatchObject({ type: 'error' });
    expect(second).toEqual([
      {
        type: 'error',
        message: expect.stringMatching(
          /did not end the turn before in 5 s.*send the message again/,
        ) as string,
      },
    ]);
    expect(third[0]).toMatchObject({ type: 'session', isNew: true, message: expect.anything() as string });
    expect(third.at(-1)).toEqual({ type: 'done', stopReason: 'end_turn' });
  },
);

test('a turn that nobody waits for may take its time to end', async () => {
  await start({}, { ...hastened, CAI_HASTEN_BY: '2' });
  const first = await panel.say(hold);
  await lineOf(first, 'thought');
  const second = await panel.say('second');
  await panel.post('cancel', { composerId: 'c' });
  expect(await rest(second)).toEqual([cancelled]);
  // Here somebody waits, and longer.
  const other = await panel.say(deaf, 'other');
  await lineOf(other, 'thought');
  expect(await panel.ask('second', 'other')).toMatchObject([{ type: 'error' }]);
  await panel.ask(release, 'third');

  expect(await rest(first)).toEqual([cancelled]);
});

test('a turn in a session of another client is given up, too', async () => {
  await start({ capabilities: { loadSession: true }, keep: newFolder() }, hastened);
  const [{ sessionId }] = (await panel.ask('first')) as [{ sessionId: string }];
  const home = server.home;
  server.process.kill('SIGTERM');
  await once(server.process, 'close');
  const { headers } = panel;
  const next = await Served.start({
    agents: { chats: [] },
    args: ['--chat', folder],
    env: { HOME: home, ...hastened },
  });
  const editor = await sdkEditor(next.url, 'chats', headers);
  await editor.agent.request(methods.agent.session.load, { sessionId, cwd: folder, mcpServers: [] });
  const guest = new ChatPanel(next.url, headers);
  const first = await guest.say(deaf);
  await lineOf(first, 'thought');

  expect(await guest.ask('second')).toMatchObject([{ type: 'error' }]);
  expect(await rest(first)).toMatchObject([{ type: 'error' }]);
  editor.close();
  await next.end();
});

test('a message of blocks that the agent does not take ends no turn', async () => {
  await start();
  const first = await panel.say(wait);
  await lineOf(first, 'thought');
  const image = { type: 'image', data: 'AA==', mimeType: 'image/png' };

  expect(await panel.ask([image])).toEqual([
    {
      type: 'error',
      message: 'the agent takes no blocks of the type "image": send a text or a resource_link',
    },
  ]);
  await panel.post('cancel', { composerId: 'c' });
  expect(await rest(first)).toEqual([cancelled]);
});

test('a silent turn says again and again that it goes on', async () => {
  await start({}, { ...hastened, CAI_HASTEN_BY: '30', CAI_HASTEN_ONLY: 'serve' });
  const lines = await panel.say(wait);
  await lineOf(lines, 'alive');
  await lineOf(lines, 'alive');
  await panel.post('cancel', { composerId: 'c' });

  expect((await rest(lines)).at(-1)).toEqual(cancelled);
});

test('a process that ends answers what runs and what waits', async () => {
  await start();
  const first = await panel.say(deaf);
  await lineOf(first, 'thought');
  const second = await panel.say('second');
  const children = readFileSync(`/proc/${server.process.pid}/task/${server.process.pid}/children`, 'utf8');
  for (const pid of children.trim().split(' ')) process.kill(Number(pid), 'SIGKILL');

  const error = { type: 'error', message: expect.stringMatching(/SIGKILL/) as string };
  expect(await rest(first)).toEqual([error]);
  expect(await rest(second)).toEqual([error]);
  expect((await panel.ask('third')).at(-1)).toEqual({ type: 'done', stopReason: 'end_turn' });
});
