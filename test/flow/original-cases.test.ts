/**
 * The eighteen integration cases of ContainAI's proxy, in the ACP of today: `session/end` became
 * `session/close`, prompts are blocks and are answered, the version is a number. The agent is the bundled
 * `fixtures/mock-acp-server`.
 */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Json } from '../support/inbox';
import { World } from '../support/world';

const mock = resolve(__dirname, '../../fixtures/mock-acp-server');
const mount = '/home/agent/workspace';
const mapped = { CAI_ACP_WORKSPACE_MOUNT: mount, MOCK_ACP_TRACE: 'trace' };
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const initialize = { protocolVersion: 1, clientCapabilities: {} };

describe('the cases of the original', () => {
  let world: World;
  afterEach(() => world.end());

  /** A proxy whose agent is the program `agent`, and whatever else has to be in its environment. */
  async function start(agent = mock, env: NodeJS.ProcessEnv = {}): Promise<void> {
    world = await World.start({ args: [agent], env: { CAI_ACP_TEST_MODE: '1', ...env } });
  }

  async function startInitialized(env: NodeJS.ProcessEnv = {}): Promise<void> {
    await start(mock, env);
    await world.request('initialize', initialize);
  }

  /** Opens a session; returns its id. */
  async function open(cwd: string, mcpServers: readonly Json[] = []): Promise<string> {
    const { result } = await world.request('session/new', { cwd, mcpServers });
    return (result as { sessionId: string }).sessionId;
  }

  const promptOf = (sessionId: string, text: string): Json => ({
    sessionId,
    prompt: [{ type: 'text', text }],
  });

  const echo = (sessionId: string, text: string): Json => ({
    jsonrpc: '2.0',
    method: 'session/update',
    params: {
      sessionId,
      update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: `echo: ${text}` } },
    },
  });

  /** Sends a prompt to a session and expects the agent's echo, then its answer. */
  async function expectEcho(sessionId: string, text: string): Promise<void> {
    const { result } = await world.request('session/prompt', promptOf(sessionId, text));

    expect(result).toEqual({ stopReason: 'end_turn' });
    expect(await world.editor.next('session/update')).toEqual(echo(sessionId, text));
  }

  /** Params of the `session/new` that the agent of a workspace got, as it wrote them down there. */
  function receivedSetup(root: string): unknown {
    const lines = readFileSync(join(root, 'trace'), 'utf8').trim().split('\n');
    const received = lines.map((line) => (JSON.parse(line) as { got?: Json }).got);
    return received.find((message) => message?.method === 'session/new')?.params;
  }

  test('1 initialize is answered with one line of JSON, without a header', async () => {
    await start();

    await world.request('initialize', initialize);

    expect(world.editor.lines.map(String)).toEqual([
      expect.stringMatching(/^\{.*"protocolVersion":1\b.*\}$/),
    ]);
  });

  test('2 nothing but that line is on stdout, however much is to be logged', async () => {
    await start(mock, { CAI_LOG_LEVEL: 'trace', CONTAINAI_VERBOSE: '1' });

    world.send({ id: 'purity-test', method: 'initialize', params: initialize });
    const response = await world.editor.response('purity-test');
    await world.close();

    expect(response.result).toMatchObject({ protocolVersion: 1 });
    expect(world.editor.lines).toHaveLength(1);
    expect(world.editor.rest).toHaveLength(0);
    expect(world.stderr).not.toBe('');
  });

  test('3 initialize is answered with its id, a version and capabilities', async () => {
    await start();

    world.send({ id: 'init-1', method: 'initialize', params: initialize });

    expect(await world.editor.response('init-1')).toMatchObject({
      jsonrpc: '2.0',
      id: 'init-1',
      result: {
        protocolVersion: 1,
        agentCapabilities: { loadSession: false, sessionCapabilities: { close: {} } },
        agentInfo: { name: 'mock-acp-server' },
        authMethods: [],
      },
    });
  });

  test('4 a session gets an id and answers a prompt under it', async () => {
    await startInitialized();

    const id = await open(world.workspace('a'));

    expect(id).toMatch(uuid);
    await expectEcho(id, 'hello');
  });

  test('5 two sessions of two folders are both opened, with different ids', async () => {
    await startInitialized();

    const ids = [await open(world.workspace('a')), await open(world.workspace('b'))];

    expect(new Set(ids).size).toBe(2);
  });

  test('6 ten prompts of two sessions, sent without waiting, leave whole lines of JSON', async () => {
    await startInitialized();
    const ids = [await open(world.workspace('a')), await open(world.workspace('b'))];
    const before = world.editor.lines.length;

    const asked = [1, 2, 3, 4, 5].flatMap((n) =>
      ids.map((id) => world.ask('session/prompt', promptOf(id, `number ${n}`))),
    );
    for (const id of asked) await world.editor.response(id);

    const lines = world.editor.lines.slice(before);
    expect(lines).toHaveLength(20);
    for (const line of lines) expect(JSON.parse(String(line))).toMatchObject({ jsonrpc: '2.0' });
  });

  test("7 the ids of two sessions are UUIDs of the proxy's own, not those of the agents", async () => {
    await startInitialized();

    const ids = [await open(world.workspace('a')), await open(world.workspace('b'))];

    expect(ids[0]).not.toBe(ids[1]);
    for (const id of ids) expect(id).toMatch(uuid);
  });

  test('8 the prompt of each of two sessions brings one update for it', async () => {
    await startInitialized();
    const first = await open(world.workspace('a'));
    const second = await open(world.workspace('b'));

    const asked = [first, second].map((id) => world.ask('session/prompt', promptOf(id, 'for you')));
    for (const id of asked) await world.editor.response(id);

    const updates = world.editor.takeAll();
    expect(updates).toHaveLength(2);
    expect(updates).toEqual(expect.arrayContaining([echo(first, 'for you'), echo(second, 'for you')]));
  });

  test('9 the cwd below the root of a repository reaches the agent as a path of its own', async () => {
    await startInitialized(mapped);
    const root = world.workspace('project');
    const cwd = join(root, 'src/components');
    mkdirSync(cwd, { recursive: true });

    const id = await open(cwd);

    expect(receivedSetup(root)).toEqual({ cwd: `${mount}/src/components`, mcpServers: [] });
    await expectEcho(id, 'from below');
  });

  test('10 arguments of MCP servers that are paths of the workspace are translated, others are not', async () => {
    await startInitialized(mapped);
    const root = world.workspace('project');
    const server = (at: string): Json => ({
      name: 'files',
      command: 'mcp-files',
      args: ['relative/path', at, `${at}/data`],
      env: [],
    });

    const id = await open(root, [server(root)]);

    expect(receivedSetup(root)).toEqual({ cwd: mount, mcpServers: [server(mount)] });
    await expectEcho(id, 'with tools');
  });

  test.each([['session/close'], ['session/end']])('11 after %s a prompt is an error', async (method) => {
    await startInitialized();
    const id = await open(world.workspace('a'));
    await expectEcho(id, 'before');

    const ended = await world.request(method, { sessionId: id });
    const prompted = await world.request('session/prompt', promptOf(id, 'after'));

    expect(ended.result).toEqual({});
    expect(prompted.error).toMatchObject({ code: -32002, data: { sessionId: id } });
  });

  test('12 at the end of stdin, what was asked is still answered, and the proxy ends', async () => {
    await startInitialized();
    // Its agent runs then: what is due has 2 s, in which a busy machine may not get one started.
    await open(world.workspace('a'));
    const asked = [
      world.ask('session/new', { cwd: world.workspace('a'), mcpServers: [] }),
      world.ask('session/new', { cwd: world.workspace('a'), mcpServers: [] }),
    ];

    expect(await world.close()).toBe(0);
    for (const id of asked) expect(await world.editor.response(id)).toHaveProperty('result');
  });

  test('13 a prompt for an unknown session is an error with a code', async () => {
    await startInitialized();
    const sessionId = 'b35f7a3c-24ef-4f0e-9d3b-8dcd8ac9a0f1';

    const { error } = await world.request('session/prompt', promptOf(sessionId, 'hello'));

    expect(error).toMatchObject({ code: -32002, data: { sessionId } });
  });

  test('14 a numeric id comes back as a number', async () => {
    await start();

    world.send({ id: 1, method: 'initialize', params: initialize });

    expect((await world.editor.response(1)).id).toBe(1);
  });

  test('15 an unknown method is an error', async () => {
    await startInitialized();

    expect((await world.request('unknown/method', {})).error).toMatchObject({ code: -32601 });
  });

  test('16 an agent of any name is accepted, and initialize answered', async () => {
    await start('my-custom-agent');

    const { result } = await world.request('initialize', initialize);

    expect(result).toEqual({ protocolVersion: 1, agentCapabilities: {}, authMethods: [] });
  });

  test('17 an agent that is not there is named in the error of session/new', async () => {
    await start('no-such-agent');
    await world.request('initialize', initialize);

    const params = { cwd: world.workspace('a'), mcpServers: [] };
    const { error } = await world.request('session/new', params);

    expect(error).toMatchObject({
      code: -32603,
      message: expect.stringMatching(/"no-such-agent".* was not found/) as string,
    });
  });

  test.each([
    ['agent; touch pwned'],
    ['agent && touch pwned'],
    ['$(touch pwned)'],
    ['`touch pwned`'],
    ['|touch pwned'],
  ])('18 the agent name "%s" is no shell command', async (name) => {
    await start(name);
    const root = world.workspace('own');
    await world.request('initialize', initialize);

    const { error } = await world.request('session/new', { cwd: root, mcpServers: [] });
    await world.close();

    expect(error).toMatchObject({ code: -32603 });
    expect(readdirSync(root)).toEqual(['.git']);
  });
});
