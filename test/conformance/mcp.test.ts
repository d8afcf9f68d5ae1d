/** Statements M: MCP servers of a session, and MCP messages over ACP. */
import { endAgents, exchange, sentBy, sentTo } from '../support/dialogue';
import type { Json } from '../support/inbox';
import { askEditor, openFresh, openWorld, type OpenSession } from '../support/turn';
import { toAgent } from '../support/verbatim';
import { fullAgent, World } from '../support/world';

const mount = '/home/agent/workspace';
const method = 'mcp/message';

let world: World;

describe('the MCP servers of a session in a mounted workspace', () => {
  beforeAll(async () => void (world = await World.initialized({ env: { CAI_ACP_WORKSPACE_MOUNT: mount } })));
  afterAll(() => world.end());

  /** The params with which the agent of the workspace is asked for a session. */
  async function received(params: Json): Promise<unknown> {
    const result = { sessionId: 's' };
    return (await exchange(world, world.agents[0]!, 'session/new', params, { result })).request.params;
  }

  test('M1 a program keeps its command, arguments and environment but for whole paths of the workspace', async () => {
    const root = world.workspace('own');
    const opening = (at: string): Json => ({
      cwd: at,
      mcpServers: [
        {
          name: `${root}/name`,
          command: `${at}/node_modules/.bin/server`,
          args: [
            at,
            `${at}/data`,
            'relative/path',
            '--',
            `--root=${root}/data`,
            `${root}2`,
            '',
            '/etc/hosts',
          ],
          env: [
            { name: 'HOME', value: `${at}/home` },
            { name: 'TOKEN', value: 's3cret' },
            { name: 'PATH', value: `/usr/bin:${root}/bin` },
          ],
        },
        { name: 'npx', command: 'npx', args: ['-y', '@scope/server'], env: [] },
        { name: 'outside', command: '/usr/bin/server', args: [], env: [] },
      ],
    });

    expect(await received(opening(root))).toEqual(opening(mount));
  });

  test('M1 the URL and headers of a server on the network arrive as they are', async () => {
    const root = world.workspace('own');
    const remote = {
      name: 'remote',
      url: `https://example.org${root}?a=%2f`,
      headers: [{ name: 'X', value: `${root}/a` }],
    };
    const mcpServers = ['http', 'sse'].map((type) => ({ type, ...remote }));

    expect(await received({ cwd: root, mcpServers })).toEqual({ cwd: mount, mcpServers });
  });
});

describe('the MCP servers of a session', () => {
  afterEach(() => world.end());

  test.each([
    ['all of them', { http: true, sse: true, acp: true }],
    ['some', { http: true, sse: false }],
    ['none', undefined],
    ['an unknown one', { _quic: { versions: [1] } }],
  ])(
    'M2 the transports of an agent that offers %s are offered, and each server is passed',
    async (_, offered) => {
      const { agentCapabilities, ...rest } = fullAgent;
      const capabilities: Json = { ...(agentCapabilities as Json), mcpCapabilities: offered };
      if (offered === undefined) delete capabilities.mcpCapabilities;
      world = await World.start({ agentHello: { ...rest, agentCapabilities: capabilities } });
      const hello = await world.request('initialize', { protocolVersion: 1, clientCapabilities: {} });
      const params = {
        cwd: world.workspace('own'),
        mcpServers: [
          { type: 'http', name: 'a', url: 'http://localhost:1/mcp', headers: [] },
          { type: 'acp', name: 'b', serverId: 'server' },
          { name: 'c', command: 'c', args: [], env: [] },
          { type: '_quic', name: 'd', novel: [1] },
          { type: 'sse', name: 'e', url: 'http://localhost:1/sse', headers: [] },
          { name: 'no command' },
        ],
      };

      const { request } = await exchange(world, await world.agent(), 'session/new', params, {
        result: { sessionId: 's' },
      });

      expect((hello.result as Json).agentCapabilities).toEqual(capabilities);
      expect(request.params).toEqual(params);
    },
  );
});

/** Params of a request to a server of the editor. */
const call = (requestId: unknown, serverId = 'server'): Json => ({
  serverId,
  requestId,
  method: 'tools/call',
  params: { name: 'search', requestId: 'inner', serverId: 'inner', _meta: { progressToken: 1 } },
  _meta: { traceparent: '00' },
});

/** Params of what the server says about that request. */
const progress = (requestId: unknown, serverId = 'server'): Json => ({
  ...call(requestId, serverId),
  method: 'notifications/progress',
});

describe('an MCP message', () => {
  let first: OpenSession;
  let second: OpenSession;
  beforeAll(async () => void (world = await World.initialized()));
  beforeEach(async () => void ([first, second] = [await openFresh(world), await openFresh(world)]));
  afterEach(() => endAgents(world, first.agent, second.agent));
  afterAll(() => world.end());

  const toAgents = (params: Json): Json => ({ jsonrpc: '2.0', method, params });

  /** Lets an agent send an MCP request, under its request id 0; resolves with the editor's. */
  async function asked({ agent }: OpenSession, params: Json, id: unknown = 0): Promise<Json> {
    return await askEditor(world, agent, { id, method, params });
  }

  test('M3 a request goes to the editor as it is, and its outcome back', async () => {
    const received = await asked(first, call('r-1'));
    world.send({ id: received.id, result: { result: { content: [] } } });

    expect(received).toEqual({ jsonrpc: '2.0', id: received.id, method, params: call('r-1') });
    expect(await first.agent.inbox.response(0)).toEqual({
      jsonrpc: '2.0',
      id: 0,
      result: { result: { content: [] } },
    });
  });

  test('M3 a notification of the editor goes to the agent that has the request open, and only there', async () => {
    await asked(first, call('a'));
    await asked(second, call('b'));
    await asked(second, call('a', 'other server'), 1);

    world.send(toAgents(progress('b')));
    world.send(toAgents(progress('a')));
    world.send(toAgents(progress('a', 'other server')));

    expect(await sentTo(world, first.agent)).toEqual([toAgents(progress('a'))]);
    expect(await sentTo(world, second.agent)).toEqual([
      toAgents(progress('b')),
      toAgents(progress('a', 'other server')),
    ]);
  });

  test('M3 a notification about no open request is dropped', async () => {
    const received = await asked(first, call('a'));
    world.send({ id: received.id, result: { result: null } });
    await first.agent.inbox.response(0);

    for (const params of [progress('a'), progress('b'), progress('a', 'other'), {}, { serverId: 'server' }]) {
      world.send(toAgents(params));
    }

    expect(await sentTo(world, first.agent)).toEqual([]);
    expect(await sentTo(world, second.agent)).toEqual([]);
    expect(await sentBy(world, first.agent)).toEqual([]);
  });

  test('M5 two agents with the same request on the same server each get their own', async () => {
    const ofFirst = await asked(first, call('same'));
    const ofSecond = await asked(second, call('same'));
    const { requestId } = ofSecond.params as Json;

    world.send(toAgents(progress(requestId)));
    world.send(toAgents(progress('same')));
    world.send({ id: ofSecond.id, result: { result: 'for the second' } });
    world.send(toAgents(progress(requestId)));
    world.send({ id: ofFirst.id, result: { result: 'for the first' } });

    expect(ofFirst.params).toEqual(call('same'));
    expect(requestId).not.toBe('same');
    expect(ofSecond.params).toEqual(call(requestId));
    expect(await sentTo(world, first.agent)).toEqual([
      toAgents(progress('same')),
      { jsonrpc: '2.0', id: 0, result: { result: 'for the first' } },
    ]);
    expect(await sentTo(world, second.agent)).toEqual([
      toAgents(progress('same')),
      { jsonrpc: '2.0', id: 0, result: { result: 'for the second' } },
    ]);
  });

  test('M5 the request id of an agent that is gone is free again', async () => {
    await asked(first, call('same'));
    first.agent.order({ exit: 1 });
    await world.editor.next('$/cancel_request');

    const received = await asked(second, call('same'));
    world.send(toAgents(progress('same')));

    expect(received.params).toEqual(call('same'));
    expect(await sentTo(world, second.agent)).toEqual([toAgents(progress('same'))]);
  });
});

describe('the outcome of an MCP message', () => {
  let session: OpenSession;
  beforeAll(async () => ({ world, session } = await openWorld({}, 'agent-session')));
  afterAll(() => world.end());

  test.each([
    ['"result":{"result":null}'],
    ['"result":{"result":{"b":1.0,"a":[18446744073709551615],"_meta":{}},"_meta":null}'],
    ['"result":{"error":{"code":-32601,"message":"none","data":null,"novel":[]},"novel":1}'],
    ['"result":{"result":1,"error":{"code":1,"message":""}}'],
    ['"error":{"code":-33000,"message":"too much","data":{"limit":1.0}}'],
    ['"error":{"code":-33001,"message":"gone"}'],
    ['"error":{"code":-33002,"message":"failed","data":null}'],
  ])('M4 the outcome %s passes byte for byte', async (outcome) => {
    const asked = await askEditor(world, session.agent, { id: 4, method, params: call('a') });
    const line = (id: unknown): string => `{"jsonrpc":"2.0",${outcome},"id":${String(id)}}`;

    expect(await toAgent(world, session, line(asked.id))).toBe(line(4));
  });
});
