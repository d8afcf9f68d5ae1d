/** Statements S: what a session is opened with. */
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { sentTo } from '../support/dialogue';
import type { Json } from '../support/inbox';
import { failure } from '../support/messages';
import type { Puppet } from '../support/puppet';
import { World } from '../support/world';

const mount = '/home/agent/workspace';
/** The requests that open a session, with what each needs besides folders. */
const openings: [method: string, more: Json][] = [
  ['session/new', {}],
  ['session/load', { sessionId: 's' }],
  ['session/resume', { sessionId: 's' }],
];

describe('sessions', () => {
  let world: World;
  afterEach(() => world.end());

  /** A folder of a workspace, made. */
  function folder(workspace: string, name: string): string {
    const path = join(world.workspace(workspace), name);
    mkdirSync(path, { recursive: true });
    return path;
  }

  /** The params of the request that opens a session, as the agent gets them. */
  async function opened(method: string, params: Json): Promise<{ params: unknown; agent: Puppet }> {
    world.ask(method, params);
    const agent = await world.agent();
    return { params: (await agent.inbox.next(method)).params, agent };
  }

  test('S1 two agents that give the same session id are two sessions for the editor', async () => {
    world = await World.initialized();

    const first = await world.session(world.workspace('a'), 'same');
    const second = await world.session(world.workspace('b'), 'same');

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
    world = await World.initialized();
    const [deep, other] = [folder('own', 'a/b'), folder('own', 'c')];

    const first = await opened(method, { ...more, cwd: deep, mcpServers: [] });
    world.ask(method, { ...more, cwd: other, mcpServers: [] });
    const second = await first.agent.inbox.next(method);

    expect(first.params).toEqual({ ...more, cwd: deep, mcpServers: [] });
    expect(second.params).toEqual({ ...more, cwd: other, mcpServers: [] });
    expect(world.agents.map(({ cwd }) => cwd)).toEqual([world.workspace('own')]);
  });

  test.each(openings)('S3 %s in a mounted workspace names folders in the container', async (method, more) => {
    world = await World.initialized({ env: { CAI_ACP_WORKSPACE_MOUNT: mount } });
    const [deep, other] = [folder('own', 'a/b'), folder('own', 'c')];

    const { params } = await opened(method, {
      ...more,
      cwd: deep,
      additionalDirectories: [other],
      mcpServers: [],
    });

    expect(params).toEqual({
      ...more,
      cwd: `${mount}/a/b`,
      additionalDirectories: [`${mount}/c`],
      mcpServers: [],
    });
  });

  test('S3 a folder that is reached through a link keeps the name that the editor gave it', async () => {
    world = await World.initialized();
    symlinkSync(world.workspace('own'), join(world.folder, 'link'));

    const { params } = await opened('session/new', { cwd: join(world.folder, 'link'), mcpServers: [] });

    expect(params).toEqual({ cwd: join(world.folder, 'link'), mcpServers: [] });
    expect(world.agents).toHaveLength(1);
  });

  test.each(openings)('S4 %s with a folder that is no absolute path is refused', async (method, more) => {
    world = await World.initialized();
    const agent = await world.agent();
    const own = world.workspace('own');

    const wrong: Json[] = [
      { cwd: 'own' },
      { cwd: '.' },
      { cwd: '' },
      { cwd: '~' },
      { cwd: 5 },
      {},
      { cwd: own, additionalDirectories: ['sub'] },
      { cwd: own, additionalDirectories: [own, '../b'] },
      { cwd: own, additionalDirectories: [null] },
    ];

    for (const params of wrong) {
      const id = world.ask(method, { ...more, ...params, mcpServers: [] });
      expect(await world.editor.response(id)).toEqual(failure(id, -32602));
    }
    expect(await sentTo(world, agent)).toEqual([]);
  });

  test.each(['session/list', 'session/fork'])('S4 %s with a relative folder is refused', async (method) => {
    world = await World.initialized();
    const { id: sessionId, agent } = await world.session(world.workspace('own'), 's1');

    const id = world.ask(method, { sessionId, cwd: 'own', mcpServers: [] });

    expect(await world.editor.response(id)).toEqual(failure(id, -32602));
    expect(await sentTo(world, agent)).toEqual([]);
  });

  test.each(openings)('S5 %s with a folder that is not mounted is refused', async (method, more) => {
    world = await World.initialized({ env: { CAI_ACP_WORKSPACE_MOUNT: mount } });
    const agent = await world.agent();
    const params = { ...more, cwd: world.workspace('own'), mcpServers: [] };
    const [inside, outside] = [folder('own', 'in'), world.workspace('out')];

    const requests = [
      { ...params, additionalDirectories: [inside, outside] },
      { ...params, _meta: { additionalRoots: [outside] } },
      { ...params, _meta: { claudeCode: { options: { additionalDirectories: [outside] } } } },
    ];

    for (const request of requests) {
      const { error } = await world.request(method, request);
      expect(error).toEqual({ code: -32602, message: expect.stringContaining(outside) as string });
    }
    expect(await sentTo(world, agent)).toEqual([]);
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
    world = await World.initialized();
    const params = { cwd: world.workspace('own'), ...further(), mcpServers: [] };

    expect((await opened('session/new', params)).params).toEqual(params);
  });

  test('S9 all MCP servers arrive, in their order and as they are', async () => {
    const servers =
      '[{"name":"b","command":"npx","args":["-y","./x"],"env":[{"name":"N","value":"1"}]},' +
      '{"type":"http","name":"a","url":"https://x.example/mcp","headers":[{"name":"h","value":"v"}]},' +
      '{"type":"sse","name":"s","url":"https://x.example/sse","headers":[]},' +
      '{"type":"acp","name":"i","serverId":"id-1"},' +
      '{"type":"_pigeon","coop":{"n":1.0,"big":18446744073709551615}},' +
      '{"type":"carrier","command":{"not":"a string"}}]';
    world = await World.initialized();
    const cwd = JSON.stringify(world.workspace('own'));

    world.send(
      `{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"mcpServers":${servers},"cwd":${cwd}}}\n`,
    );
    const agent = await world.agent();
    await agent.inbox.next('session/new');

    expect(agent.inbox.lines.at(-1)!.toString()).toBe(
      `{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"mcpServers":${servers},"cwd":${cwd}}}`,
    );
  });
});
