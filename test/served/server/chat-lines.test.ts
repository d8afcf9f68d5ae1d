/** What a chat panel may say to an agent, and what it hears. */
import { readFileSync } from 'node:fs';
import { methods } from '@agentclientprotocol/sdk';
import { blockTypes } from '../../../src/served/server/chat/prompt-blocks';
import { ChatPanel, chatsAgent, lineOf, rest, sdkEditor, type Json } from '../../support/chat-panel';
import { Served } from '../../support/served';
import { newFolder } from '../../support/temp-folder';

const folder = newFolder();
const done = { type: 'done', stopReason: 'end_turn' };
const image = { type: 'image', data: 'AA==', mimeType: 'image/png', uri: 'file:///a.png' };
const audio = { type: 'audio', data: 'AA==', mimeType: 'audio/wav' };
const link = { type: 'resource_link', name: 'a', uri: 'file:///a', size: 3 };
const resource = { type: 'resource', resource: { uri: 'file:///a', text: 'A' } };
const binary = { type: 'resource', resource: { uri: 'file:///a', blob: 'AA==' } };
const promptCapabilities = { image: true, audio: true, embeddedContext: true };

let server: Served;
let panel: ChatPanel;

beforeAll(async () => {
  const agents = { chats: chatsAgent({ capabilities: { promptCapabilities } }), plain: chatsAgent({}) };
  server = await Served.start({
    agents,
    args: ['--chat', folder],
    config: '[acp]\nmax_line_from_editor = "1MiB"',
  });
  panel = new ChatPanel(server.url, server.owner);
  await panel.ask('first');
});
afterAll(() => server.end());

/** The lines for what the agent says in a turn. */
async function heard(updates: readonly unknown[]): Promise<Json[]> {
  const lines = await panel.ask(JSON.stringify({ updates }));
  expect(lines.at(-1)).toEqual(done);
  return lines.slice(0, -1);
}

const chunk = (content: unknown, whose = 'agent_message'): Json => ({
  sessionUpdate: `${whose}_chunk`,
  content,
});

test('blocks of all types reach the agent as they are', async () => {
  const prompt = [
    { type: 'text', text: 'look', annotations: { priority: 1 } },
    image,
    audio,
    link,
    resource,
    binary,
  ];
  const [{ content }] = (await panel.ask(prompt)) as [{ content: string }];

  expect((JSON.parse(content) as Json).prompt).toEqual(prompt);
});

test.each<[unknown, RegExp]>([
  ['', /must be a text or a list/],
  [[], /must be a text or a list/],
  [{ type: 'text', text: 'a' }, /must be a text or a list/],
  [[null], /^block 1 of "message" is no object/],
  [[['text']], /^block 1 of "message" is no object/],
  [[image, { type: 'video' }], /^block 2 of "message" has another "type" than text, image, audio,/],
  [[{ type: 'toString' }], /another "type"/],
  [[{ type: 'text' }], /is of the type "text" and has no text "text"/],
  [[{ ...image, mimeType: 5 }], /has no text "mimeType"/],
  [[{ ...link, name: undefined }], /has no text "name"/],
  [[{ type: 'resource', resource: { uri: 'file:///a' } }], /has no "resource" with/],
  [[{ type: 'resource', resource: 'file:///a' }], /has no "resource" with/],
])('what is no prompt is refused: %j', async (message, text) => {
  const answer = await panel.post('sendMessage', { composerId: 'c', message });

  expect(answer.status).toBe(400);
  expect(await answer.text()).toMatch(text);
});

test('the check of blocks asks for what the schema of the SDK asks for', () => {
  type Schema = Record<string, { readonly required?: string[] }>;
  const file = require.resolve('@agentclientprotocol/sdk/schema/v1/schema.json');
  const { $defs } = JSON.parse(readFileSync(file, 'utf8')) as { $defs: Schema };
  const names = {
    text: 'TextContent',
    image: 'ImageContent',
    audio: 'AudioContent',
    resource_link: 'ResourceLink',
    resource: 'EmbeddedResource',
  };
  const needed = Object.entries(names).map(([type, name]) => [type, $defs[name]!.required]);
  const asked = Object.entries(blockTypes).map(([type, { texts }]) => [
    type,
    type === 'resource' ? ['resource'] : texts,
  ]);

  expect(asked).toEqual(needed);
  expect([$defs.TextResourceContents!.required, $defs.BlobResourceContents!.required]).toEqual([
    ['text', 'uri'],
    ['blob', 'uri'],
  ]);
});

test('a body that is longer than the longest message is refused', async () => {
  const long = [{ ...image, data: 'A'.repeat(1_048_576) }];

  expect((await panel.post('sendMessage', { composerId: 'c', message: long })).status).toBe(413);
  expect((await panel.ask([{ ...image, data: 'A'.repeat(1_000_000) }])).at(-1)).toEqual(done);
});

test.each([image, audio, resource])('an agent that does not take it gets none: %j', async (block) => {
  const answer = await panel.ask([block], 'c', { provider: { id: 'plain' } });

  expect(answer.at(-1)).toMatchObject({
    type: 'error',
    message: expect.stringContaining(block.type) as string,
  });
  expect(await panel.ask([link], 'c', { provider: { id: 'plain' } })).toContainEqual(done);
});

test('what an agent shows is a line of its own', async () => {
  const blocks = [image, audio, link, resource, binary];

  expect(await heard(blocks.map((block) => chunk(block)))).toEqual(blocks);
});

test('what has no line of its own is passed on as it is', async () => {
  const updates = [
    chunk({ type: 'text', text: 'said' }, 'user_message'),
    chunk(image, 'agent_thought'),
    chunk({ type: 'done', stopReason: 'end_turn' }),
    chunk(null),
    chunk({ type: 'text', text: 5 }),
    { sessionUpdate: 'current_mode_update', currentModeId: 'code' },
    { sessionUpdate: 'available_commands_update', availableCommands: [{ name: 'a', description: 'b' }] },
    { sessionUpdate: 'usage_update', used: 1, size: 2 },
    { sessionUpdate: 'plan_update', plan: { type: 'file', planId: '1', uri: 'https://a' }, type: 'text' },
    { sessionUpdate: '_new', deep: [{ type: 'text' }] },
  ];

  expect(await heard(updates)).toEqual(updates.map((update) => ({ type: 'update', update })));
});

test('tools and plans have their fields', async () => {
  const updates = [
    {
      sessionUpdate: 'tool_call',
      toolCallId: '1',
      title: 'Edit',
      content: [{ type: 'content', content: image }],
    },
    { sessionUpdate: 'tool_call_update', toolCallId: '1', status: 'completed', type: 'done' },
    { sessionUpdate: 'plan', entries: [] },
  ];

  expect(await heard(updates)).toEqual([
    { ...updates[0], type: 'tool' },
    { ...updates[1], type: 'tool' },
    { ...updates[2], type: 'plan' },
  ]);
});

test('a line as long as an agent may write reaches a panel, with what follows', async () => {
  const [shown, behind] = await panel.ask(JSON.stringify({ long: 12 * 1_048_576 }));

  expect(shown).toMatchObject({ type: 'image', mimeType: 'image/png' });
  expect((shown!.data as string).length).toBe(12 * 1_048_576);
  expect(behind).toEqual({ type: 'text', content: 'behind it' });
});

test('a connection outlives what nobody can write', async () => {
  expect(await panel.ask(JSON.stringify({ deep: 100_000 }))).toEqual([done]);
  expect(await panel.ask('next')).toEqual([expect.anything(), done]);
});

test('an error of an agent is told with its cause', async () => {
  const fail = { code: -32603, message: 'Internal error', data: { details: 'too many tokens' } };

  expect(await panel.ask(JSON.stringify({ fail }))).toEqual([
    { type: 'error', message: 'Internal error: too many tokens' },
  ]);
});

test('a prompt that every session refuses is tried in one more, and no more', async () => {
  const fail = { code: -32002, message: 'Resource not found' };
  const lines = await panel.ask(JSON.stringify({ fail }), 'refused');
  expect(lines.map(({ type, isNew }) => [type, isNew])).toEqual([
    ['session', true],
    ['session', true],
    ['error', undefined],
  ]);
});

test('how a session is, told between turns, is told in the next', async () => {
  const [first, second] = ['a', 'b'].map((title) => ({ sessionUpdate: 'session_info_update', title }));
  const late = [first, chunk(link), second];
  await panel.ask(JSON.stringify({ late }), 'late');
  await panel.ask(JSON.stringify({ release: true }));

  expect(await panel.ask('next', 'late')).toEqual([
    { type: 'update', update: second },
    expect.anything(),
    done,
  ]);
  expect(await panel.ask('next', 'late')).toEqual([expect.anything(), done]);
});

test('a session is told with its modes', async () => {
  const modes = { currentModeId: 'ask', availableModes: [] };

  expect((await panel.ask('hello', 'modes'))[0]).toMatchObject({
    type: 'session',
    isNew: true,
    cwd: folder,
    modes,
  });
});

test('a permission that another client of the session gives is withdrawn', async () => {
  const [{ sessionId }] = (await panel.ask('hello', 'shared')) as [{ sessionId: string }];
  const connection = await sdkEditor(server.url, 'chats', server.owner);
  await connection.agent.request(methods.agent.session.load, { sessionId, cwd: folder, mcpServers: [] });
  const lines = await panel.say(JSON.stringify({ ask: 'Go on' }), 'shared');
  const { permissionId } = await lineOf(lines, 'permission');

  expect(await rest(lines)).toEqual([
    { type: 'withdrawn', permissionId },
    { type: 'text', content: '{"outcome":"selected","optionId":"yes"}' },
    done,
  ]);
  connection.close();
});
