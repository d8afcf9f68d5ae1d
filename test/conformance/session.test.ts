/** Statements S: what a session is opened with. */
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { exchange, sentTo } from '../support/dialogue';
import type { Json } from '../support/inbox';
import { failure, itsId } from '../support/messages';
import type { Puppet } from '../support/puppet';
import { openFresh } from '../support/turn';
import { World } from '../support/world';

const mount = '/home/agent/workspace';
/** The requests that open a session, with what each needs besides folders. */
const openings: [method: string, more: Json][] = [
  ['session/new', {}],
  ['session/load', { sessionId: 's' }],
  ['session/resume', { sessionId: 's' }],
];

let world: World;

/** A folder of a workspace, made. */
function folder(workspace: string, name: string): string {
  const path = join(world.workspace(workspace), name);
  mkdirSync(path, { recursive: true });
  return path;
}

/** A request is refused for its params and reaches no agent. */
async function expectRefused(method: string, params: Json): Promise<void> {
  expect(await world.request(method, params)).toEqual(failure(itsId, -32602));
  expect(await sentTo(world, ...world.agents)).toEqual([]);
}

describe('in a mounted workspace', () => {
  let agent: Puppet;
  beforeAll(async () => {
    world = await World.initialized({ env: { CAI_ACP_WORKSPACE_MOUNT: mount } });
    agent = await world.agent();
  });
  afterAll(() => world.end());

  test.each(openings)('S3 %s names folders in the container', async (method, more) => {
    const additionalDirectories = [folder('own', 'c')];
    const params = { ...more, cwd: folder('own', 'a/b'), additionalDirectories, mcpServers: [] };
    const result = { sessionId: 's' };

    const { request } = await exchange(world, agent, method, params, { result });

    const inside = { cwd: `${mount}/a/b`, additionalDirectories: [`${mount}/c`] };
    expect(request.params).toEqual({ ...params, ...inside });
  });

  test.each(openings)('S5 %s with a folder that is not mounted is refused', async (method, more) => {
    const params = { ...more, cwd: world.workspace('own'), mcpServers: [] };
    const [inside, outside] = [folder('own', 'in'), world.workspace('out')];

    for (const further of [
      { additionalDirectories: [inside, outside] },
      { _meta: { additionalRoots: [outside] } },
      { _meta: { claudeCode: { options: { additionalDirectories: [outside] } } } },
    ]) {
      const { error } = await world.request(method, { ...params, ...further });
      expect(error).toEqual({ code: -32602, message: expect.stringContaining(outside) as string });
    }
    expect(await sentTo(world, agent)).toEqual([]);
  });
});

describe('in a workspace at its own path', () => {
  let agent: Puppet;
  beforeAll(async () => {
    world = await World.initialized();
    agent = await world.agent();
  });
  afterAll(() => world.end());

  /** Opens a session; its params as the agent of the workspace `own` gets them. */
  async function opened(method: string, params: Json): Promise<unknown> {
    const result = { sessionId: 's' };
    return (await exchange(world, agent, method, params, { result })).request.params;
  }

  test('S1 two agents that give the same session id are two sessions for the editor', async () => {
    const [first, second] = [await openFresh(world, 'same'), await openFresh(world, 'same')];

    expect(first.id).not.toBe(second.id);
    expect([first.id, second.id]).not.toContain('same');
    for (const each of [first, second]) {
      world.send({ method: 'session/cancel', params: { sessionId: each.id } });
      expect((await each.agent.inbox.next('session/cancel')).params).toEqual({ sessionId: 'same' });
      each.agent.say('same', each.id);
      const update = await world.editor.next('session/update');
      expect(update.params).toMatchObject({ sessionId: each.id, update: { content: { text: each.id } } });
    }
  });

  test.each(openings)('S3 %s in two folders of a workspace: each keeps its own', async (method, more) => {
    const count = world.agents.length;

    for (const cwd of [folder('own', 'a/b'), folder('own', 'c')]) {
      const params = { ...more, cwd, mcpServers: [] };
      expect(await opened(method, params)).toEqual(params);
    }
    expect(world.agents).toHaveLength(count);
  });

  test('S3 a folder that is reached through a link keeps the name that the editor gave it', async () => {
    const [cwd, count] = [join(world.folder, 'link'), world.agents.length];
    symlinkSync(world.workspace('own'), cwd);

    expect(await opened('session/new', { cwd, mcpServers: [] })).toEqual({ cwd, mcpServers: [] });
    expect(world.agents).toHaveLength(count);
  });

  test.each(openings)('S4 %s with a folder that is no absolute path is refused', async (method, more) => {
    const cwd = world.workspace('own');
    for (const params of [
      ...['own', '.', '', '~', 5].map((wrong) => ({ cwd: wrong })),
      {},
      ...[['sub'], [cwd, '../b'], [null]].map((wrong) => ({ cwd, additionalDirectories: wrong })),
    ]) {
      await expectRefused(method, { ...more, ...params, mcpServers: [] });
    }
  });

  test.each(['session/list', 'session/fork'])('S4 %s with a relative folder is refused', async (method) => {
    const { id: sessionId } = await openFresh(world);

    await expectRefused(method, { sessionId, cwd: 'own', mcpServers: [] });
  });

  test.each([
    ['nothing', (): Json => ({})],
    ['an empty list', (): Json => ({ additionalDirectories: [] })],
    ['null', (): Json => ({ additionalDirectories: null })],
    [
      'three in an order',
      (): Json => ({ additionalDirectories: ['z', 'a', 'z'].map((name) => folder('own', name)) }),
    ],
  ])('S5 further folders reach the agent as they are: %s', async (_, further) => {
    const params = { cwd: world.workspace('own'), ...further(), mcpServers: [] };

    expect(await opened('session/new', params)).toEqual(params);
  });

  test('S9 all MCP servers arrive, in their order and as they are', async () => {
    const servers =
      '[{"name":"b","command":"npx","args":["-y","./x"],"env":[{"name":"N","value":"1"}]},' +
      '{"type":"http","name":"a","url":"https://x.example/mcp","headers":[{"name":"h","value":"v"}]},' +
      '{"type":"sse","name":"s","url":"https://x.example/sse","headers":[]},' +
      '{"type":"acp","name":"i","serverId":"id-1"},' +
      '{"type":"_pigeon","coop":{"n":1.0,"big":18446744073709551615}},' +
      '{"type":"carrier","command":{"not":"a string"}}]';
    const params = `{"mcpServers":${servers},"cwd":${JSON.stringify(world.workspace('own'))}}`;
    const line = `{"jsonrpc":"2.0","id":"n","method":"session/new","params":${params}}`;

    world.send(`${line}\n`);
    await agent.answer('session/new', { result: { sessionId: 's' } });

    expect(String(agent.inbox.lines.at(-1))).toBe(line);
    await world.editor.response('n');
  });
});
