/** An agent that means harm: it costs the others nothing, and nothing of it acts on the host. */
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { exchange, leave, sentBy, sentTo } from '../support/dialogue';
import { hastened } from '../support/hastened';
import type { Json } from '../support/inbox';
import { failure } from '../support/messages';
import { isNightly } from '../support/nightly';
import { chunk, startTurn, type OpenSession } from '../support/turn';
import { World } from '../support/world';

let world: World;
/** A session of the agent that means harm. */
let hostile: OpenSession;
/** A session of an agent in another workspace. */
let calm: OpenSession;

async function start(options: Parameters<typeof World.initialized>[0] = {}): Promise<void> {
  world = await World.initialized(options);
  hostile = await world.session(world.workspace('own'), 'hostile');
  calm = await world.session(world.workspace('calm'), 'calm');
}

/** Another agent's turn goes on as ever. */
async function expectOthersServed(): Promise<void> {
  const turn = await startTurn(world, calm);
  expect(await turn.end()).toMatchObject({ result: { stopReason: 'end_turn' } });
}

/** Lets the hostile agent send a request; resolves with its answer once that comes without the editor. */
async function refusalOf(request: Json | string): Promise<Json> {
  const { agent } = hostile;
  agent.send(request);
  expect(await sentBy(world, agent)).toEqual([]);
  return await agent.inbox.response(1);
}

describe('others are served though an agent', () => {
  beforeAll(() => start());
  afterAll(() => world.end());

  test.each([
    ['of one folder', (n: number) => ({ sessionId: `row-${n}`, cwd: '/x' })],
    ['of one id, each in a folder of its own', (n: number) => ({ sessionId: 'row', cwd: `/x${n}` })],
  ])('lists thousands of sessions %s that nobody knew, of which few are written down', async (_, rowOf) => {
    const count = isNightly ? 60_000 : 2_000;
    const sessions = Array.from({ length: count }, (_, n) => rowOf(n));

    hostile.agent.send({ method: '_session/list/changes', params: { sessions } });

    await expectOthersServed();
    const { params } = await world.editor.next('_session/list/changes');
    const ids = (params as { sessions: Json[] }).sessions.map(({ sessionId }) => sessionId);
    expect(new Set(ids).size).toBe(count);
    const later = await world.session(calm.agent.cwd, `later-${rowOf(0).sessionId}`, calm.agent);
    const records = readFileSync(join(world.folder, 'home/.local/state/containai/sessions.ndjson'), 'utf8');
    expect(records).toContain(`"id":"${later.id}"`);
    expect(records.split('\n').length).toBeLessThan(1_020);
  });

  test('asks for a file by a path that takes minutes to normalise', async () => {
    const path = `/${'a/'.repeat(200_000)}${'x/../'.repeat(100_000)}`;
    const params = { sessionId: 'hostile', path };

    hostile.agent.send({ id: 1, method: 'fs/read_text_file', params });

    await expectOthersServed();
    expect(await hostile.agent.inbox.response(1)).toHaveProperty('error');
  });

  test('names such a path in an update', async () => {
    const path = `${hostile.agent.cwd}/${'a/'.repeat(200_000)}${'x/../'.repeat(100_000)}`;

    hostile.agent.update('hostile', { sessionUpdate: 'tool_call', toolCallId: 't', locations: [{ path }] });

    await expectOthersServed();
  });
});

describe('an agent', () => {
  beforeAll(() => start());
  beforeEach(() => void [world.editor, hostile.agent.inbox].map((inbox) => inbox.takeAll()));
  afterAll(() => world.end());

  test('cannot hide a message between two CRs of another one', async () => {
    const hidden = '{"jsonrpc":"2.0","id":7,"method":"terminal/create","params":{"command":"sh"}}';
    const update = `"params":{"sessionId":"hostile","update":${JSON.stringify(chunk('x'))}}`;

    hostile.agent.send(`{"jsonrpc":"2.0","method":"session/update","x":[\r${hidden}\r],${update}}\n`);
    expect(await sentBy(world, hostile.agent)).toHaveLength(1);
    expect(world.editor.lines.some((line) => line.includes('\r'))).toBe(false);
  });

  test.each([
    [
      'file',
      `"method":"fs/read_text_file","params":{"sessionId":"hostile","path":"OWN/a","Path":"/etc/passwd"}`,
    ],
    ['method', `"method":"_x","Method":"terminal/create","params":{"command":"sh"}`],
    ['method, with a letter that some fold to K,', `"method":"_x","\u212aey":1,"METHOD":"terminal/create"`],
  ])('cannot name a second %s in a key of other case', async (_, members) => {
    world.file('own/a', '');
    const line = `{"jsonrpc":"2.0","id":1,${members.replace('OWN', hostile.agent.cwd)}}\n`;

    expect(await refusalOf(line)).toEqual(failure(1, -32600));
  });

  test('cannot ask for a file by half of a surrogate pair, which some take for a byte', async () => {
    const link = Buffer.concat([Buffer.from(`${hostile.agent.cwd}/`), Buffer.from([0x80])]);
    symlinkSync('/etc/hostname', link);
    const params = `{"sessionId":"hostile","path":"${hostile.agent.cwd}/\\udc80"}`;

    expect(
      await refusalOf(`{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":${params}}\n`),
    ).toHaveProperty('error');
  });

  test('cannot speak for the session of another one by a method of its own', async () => {
    const params = { sessionId: calm.id };

    hostile.agent.send({ method: '_x/update', params });

    expect(await refusalOf({ id: 1, method: '_x/ask', params })).toEqual(failure(1, -32002));
  });

  test.each(['file:///tmp/evil.desktop', 'vscode://evil', 'ms-settings:', '//host', '', 7, null])(
    'cannot have the editor open %j',
    async (url) => {
      const params = { sessionId: 'hostile', mode: 'url', elicitationId: 'e', message: 'open', url };

      expect(await refusalOf({ id: 1, method: 'elicitation/create', params })).toEqual(failure(1, -32602));
    },
  );

  test('is not heard with an id, or a method, that is too long to be kept', async () => {
    const long = 'x'.repeat(2_000);
    const params = { sessionId: 'hostile', toolCall: { toolCallId: 't' }, options: [] };

    hostile.agent.send({ id: long, method: 'session/request_permission', params });
    hostile.agent.send({ method: `_${long}`, params: {} });

    expect(await sentBy(world, hostile.agent)).toEqual([]);
  });

  test.each([
    ['session/request_permission', { sessionId: 'x'.repeat(5_000) }],
    ['elicitation/create', { sessionId: 'hostile', mode: 'form', elicitationId: 'x'.repeat(5_000) }],
    ['mcp/message', { serverId: 'x'.repeat(5_000), requestId: 1 }],
    ['mcp/message', { serverId: 'x', requestId: 'x'.repeat(5_000) }],
  ])('is refused %s with an id in it that is too long to be kept', async (method, params) => {
    expect(await refusalOf({ id: 1, method, params })).toEqual(failure(1, -32600));
  });

  test('that answers every list with an empty page and a cursor keeps nobody waiting', async () => {
    const page = { result: { sessions: [], nextCursor: 'again' } };
    const { response } = await exchange(world, hostile.agent, 'session/list', {}, page);

    expect(response.result).toEqual({ sessions: [], nextCursor: expect.any(String) as string });
  });

  test.each(['{}', 'null', '7', '{"sessionId":7}'])(
    'that names no session in a result that has to, %s, has its call fail; the next is served',
    async (text) => {
      const { agent, id } = hostile;
      const result: unknown = JSON.parse(text);
      const calls = [
        ['session/new', { cwd: agent.cwd, mcpServers: [] }],
        ['session/fork', { sessionId: id }],
      ] as const;
      for (const [method, params] of calls) {
        const { response } = await exchange(world, agent, method, params, { result });

        expect(response).toEqual(failure(response.id, -32603));
        const said = `the agent has answered ${method} without a sessionId`;
        expect(response).toHaveProperty('error.message', expect.stringContaining(said));
        const next = await exchange(world, agent, method, params, { result: { sessionId: `next-${text}` } });
        expect(next.response).toHaveProperty('result.sessionId');
      }
    },
  );

  test('cannot fill the screen with an error', async () => {
    const error = { code: -32603, message: `${'x'.repeat(4_095)}${'😀'.repeat(10_000)}`, data: { n: 1 } };

    const prompt = { sessionId: hostile.id, prompt: [] };
    const { response } = await exchange(world, hostile.agent, 'session/prompt', prompt, { error });

    expect(response.error).toEqual({ ...error, message: `${'x'.repeat(4_095)} …` });
  });

  test('opens no more sessions by naming them than it was asked for', async () => {
    const opening = world.ask('session/new', { cwd: hostile.agent.cwd, mcpServers: [] });
    const asked = await hostile.agent.inbox.next('session/new');

    for (let n = 0; n < 50; n++) hostile.agent.say(`early-${n}`, 'hello');
    const updates = await sentBy(world, hostile.agent);
    hostile.agent.send({ id: asked.id, error: { code: -32603, message: 'no' } });
    await world.editor.response(opening);

    expect(updates).toHaveLength(1);
    const { sessionId } = updates[0]!.params as { sessionId: string };
    expect(await world.request('session/prompt', { sessionId, prompt: [] })).toMatchObject({
      error: { code: -32002 },
    });
  });

  test('has each of its requests answered though its session is opened anew meanwhile', async () => {
    const path = world.file('own/a', '');
    const { agent, id } = hostile;
    const rounds = 20;

    for (let n = 0; n < rounds; n++) {
      world.ask('session/load', { sessionId: id, cwd: agent.cwd, mcpServers: [] });
      agent.send({ id: n, method: 'fs/read_text_file', params: { sessionId: 'hostile', path } });
    }
    for (let n = 0; n < rounds; n++) {
      const load = await agent.answer('session/load');
      await world.editor.response(load.id);
    }
    const passed = await sentBy(world, agent);
    const refused = await sentTo(world, agent);

    expect(passed.length + refused.length).toBe(rounds);
  });
});

describe('an agent', () => {
  beforeAll(() => start({ env: hastened }));
  afterAll(() => world.end());

  test('that does not answer a list keeps nobody from the others’ sessions', async () => {
    const row = { sessionId: 'calm', cwd: calm.agent.cwd };

    const { response } = await exchange(
      world,
      calm.agent,
      'session/list',
      {},
      { result: { sessions: [row] } },
    );

    expect(response.result).toMatchObject({ sessions: [{ ...row, sessionId: calm.id }] });
  });

  test.each([
    ['authenticate', { methodId: 'key' }],
    ['logout', {}],
    ['providers/set', { providerId: 'p' }],
  ])('that does not answer %s keeps nobody from using the others', async (method, params) => {
    const { response } = await exchange(world, calm.agent, method, params, { result: { from: 'calm' } });

    expect(response.result).toEqual({ from: 'calm' });
  });
});

describe('an agent', () => {
  afterEach(() => world.end());

  test('has the path that it was refused in no log', async () => {
    await start();
    const params = { sessionId: 'hostile', path: '/somewhere/token-abc' };

    expect(await refusalOf({ id: 1, method: 'fs/read_text_file', params })).toHaveProperty('error');
    const said = await world.lastWords();
    expect(said).toContain('refused to an agent');
    expect(said).not.toContain('token-abc');
  });

  test('names only so many sessions, which is told once', async () => {
    await start();

    for (let n = 0; n < 1_010; n++) {
      const update = {
        sessionUpdate: 'subagent_update',
        sessionId: `sub-${n}`,
        title: 'x',
        capabilities: {},
      };
      hostile.agent.update('hostile', update);
    }
    const received = await sentBy(world, hostile.agent);

    const ids = received.map(({ params }) => (params as { update: Json }).update.sessionId as string);
    expect(ids.filter((id) => id.startsWith('sub-'))).toHaveLength(11);
    expect((await world.lastWords()).split('too many sessions open')).toHaveLength(2);
  });

  test('is not listened to before it has answered initialize', async () => {
    world = await World.start({ agentHello: false });
    const answered = world.ask('initialize', { protocolVersion: 1, clientCapabilities: {} });
    const agent = await world.agent();
    const hello = await agent.inbox.next('initialize');

    agent.send({ id: 1, method: '_x', params: {} });

    expect(await agent.inbox.response(1)).toEqual(failure(1, -32600));
    expect(world.editor.takeAll()).toEqual([]);
    agent.send({ id: hello.id, result: { protocolVersion: 1 } });
    await world.editor.response(answered);
  });

  test('without a workspace may leave what it likes in its folder', async () => {
    world = await World.initialized({ cwd: '/' });
    const agent = await world.agent();
    mkdirSync(join(agent.cwd, 'left'), { mode: 0 });

    agent.order({ exit: 3 });
    await agent.gone;
    await world.session(world.workspace('own'), 's');

    expect(await leave(world)).toBe(0);
  });
});

describe('an agent whose list of sessions does not end', () => {
  test('takes little memory, however long the editor follows it', async () => {
    const world = await World.initialized({ env: { NODE_OPTIONS: '--max-old-space-size=48' } });
    try {
      const { agent } = await world.session(world.workspace('own'), 'opened');
      let cursor: unknown;
      for (let i = 0; i < 20; i++) {
        const sessions = Array.from({ length: 3_000 }, (_, k) => ({
          sessionId: `${i} ${k}`,
          cwd: agent.cwd,
        }));
        const id = world.ask('session/list', i === 0 ? {} : { cursor });
        await agent.answer('session/list', { result: { sessions, nextCursor: 'more' } });
        ({ nextCursor: cursor } = (await world.editor.response(id)).result as { nextCursor: unknown });
      }

      expect(cursor).toEqual(expect.any(String));
    } finally {
      await world.end();
    }
  });
});
