/** Statements S: session/list over all agents, page by page. */
import { endAgent, exchange, sentTo, startCall } from '../support/dialogue';
import type { Json } from '../support/inbox';
import { failure, itsId, success } from '../support/messages';
import { openTwo, openWorld, type OpenSession } from '../support/turn';
import { World } from '../support/world';

const mount = '/home/agent/workspace';

/** A page as an agent answers it. */
const page = (sessions: readonly Json[], nextCursor?: string): Json => ({
  sessions,
  ...(nextCursor === undefined ? {} : { nextCursor }),
});

const row = (sessionId: string, { agent }: OpenSession, below = ''): Json => ({
  sessionId,
  title: sessionId,
  cwd: `${agent.cwd}${below}`,
});

/** The editor's ids, titles and cursor of a page. */
function rowsOf(response: Json): { ids: unknown[]; titles: unknown[]; cursor: unknown } {
  const { sessions, nextCursor } = response.result as { sessions: Json[]; nextCursor?: unknown };
  return {
    ids: sessions.map(({ sessionId }) => sessionId),
    titles: sessions.map(({ title }) => title),
    cursor: nextCursor ?? undefined,
  };
}

/** What has a code and says it. */
const errorOf = (code: number): Json => ({ code, message: `${code}` });

let world: World;

test('S10 an agent without a workspace is asked for its sessions, too', async () => {
  world = await World.initialized({ cwd: 'home' });
  const outcome = { result: page([{ sessionId: 's', cwd: '/elsewhere', title: 's' }]) };

  const { response } = await exchange(world, await world.agent(), 'session/list', {}, outcome);

  expect(rowsOf(response).titles).toEqual(['s']);
  await world.end();
});

describe('session/list with one agent', () => {
  let session: OpenSession;
  beforeAll(async () => {
    ({ world, session } = await openWorld({ env: { CAI_ACP_WORKSPACE_MOUNT: mount } }));
  });
  afterAll(() => world.end());

  test('S10 rows have host folders and the editor’s ids, and are otherwise as the agent wrote them', async () => {
    const own = JSON.stringify(world.workspace('own')).slice(1, -1);
    const text = (id: string, root: string): string =>
      `{ "sessions":[{"n":1.0,"sessionId":"${id}","cwd":"${root}/sub","additionalDirectories":["${root}/x","/else"],` +
      `"title":null,"updatedAt":"2026-01-01T00:00:00Z","_meta":{"path":"${mount}/y","big":18446744073709551615}}],"z":"\\u00e9"}`;

    world.send('{"jsonrpc":"2.0","id":"l","method":"session/list","params":{}}\n');
    const { id } = await session.agent.inbox.next('session/list');
    session.agent.send(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${text('s1', mount)}}\n`);
    await world.editor.response('l');

    const line = world.editor.lines.at(-1)!.toString();
    expect(line).toBe(`{"jsonrpc":"2.0","id":"l","result":${text(session.id, own)}}`);
  });

  test('S11 a session that is listed before it is said to be made has one id', async () => {
    const params = { cwd: world.workspace('own'), mcpServers: [] };
    const opening = await startCall(world, session.agent, 'session/new', params);
    const result = { sessions: [{ sessionId: 's2', cwd: mount }] };
    const { response } = await exchange(world, session.agent, 'session/list', {}, { result });

    const opened = (await opening.end({ result: { sessionId: 's2' } })).result as Json;
    expect(rowsOf(response).ids).toEqual([opened.sessionId]);
  });

  test('S13 listing opens nothing: a listed session is unknown until it is loaded', async () => {
    const result = { sessions: [{ sessionId: 's3', cwd: mount }] };
    const { response } = await exchange(world, session.agent, 'session/list', {}, { result });
    const [sessionId] = rowsOf(response).ids;

    const unknown = failure(itsId, -32002, { sessionId });
    expect(await world.request('session/prompt', { sessionId, prompt: [] })).toEqual(unknown);
    expect(await sentTo(world, session.agent)).toEqual([]);
    const load = { sessionId, cwd: world.workspace('own'), mcpServers: [] };
    const { request } = await exchange(world, session.agent, 'session/load', load, { result: null });
    expect(request.params).toEqual({ ...load, sessionId: 's3', cwd: mount });
  });
});

describe('session/list with one agent, where nothing is remembered', () => {
  let session: OpenSession;
  beforeAll(async () => {
    ({ world, session } = await openWorld({ env: { CAI_ACP_WORKSPACE_MOUNT: mount } }));
  });
  afterAll(() => world.end());

  test.each([[{ sessions: [] }], [{ sessions: [], nextCursor: null }]])(
    'S10 no sessions are an empty list: %j',
    async (result) => {
      const { response } = await exchange(world, session.agent, 'session/list', {}, { result });

      expect(response).toEqual(success(itsId, result));
    },
  );

  test.each([[{ code: -32000, message: 'sign in', data: [] }], [{ code: -32603, message: 'broken' }]])(
    'S10 the agent’s refusal is the answer: %j',
    async (error) => {
      const { response } = await exchange(world, session.agent, 'session/list', {}, { error });

      expect(response.error).toEqual(error);
    },
  );

  test('S13 session/status reaches the agent alone and changes nothing', async () => {
    const { agent, id: sessionId } = session;
    const result = { state: { type: 'idle' }, cwd: 'x' };
    const { request, response } = await exchange(world, agent, 'session/status', { sessionId }, { result });

    expect(request.params).toEqual({ sessionId: 's1' });
    expect(response.result).toEqual(result);
    expect(await sentTo(world, agent)).toEqual([]);
  });

  test('S12 a folder reaches the agent under the name it has there', async () => {
    const params = { cwd: world.workspace('own'), _meta: { n: 1 } };
    const { request } = await exchange(world, session.agent, 'session/list', params, { result: page([]) });

    expect(request.params).toEqual({ cwd: mount, _meta: { n: 1 } });
  });
});

describe('session/list of a proxy of its own', () => {
  afterEach(() => world.end());

  test('S11 sessions that agents count are listed once each, though all see their workspace at one place', async () => {
    world = await World.initialized({ env: { CAI_ACP_WORKSPACE_MOUNT: mount } });
    const sessions = ['1', '2', '3', '4', '5'].map((id) => ({ sessionId: id, title: id, cwd: mount }));
    const opened: OpenSession[] = [];
    for (const name of ['own', 'b', 'c']) opened.push(await world.session(world.workspace(name), 'opened'));

    const listed: ReturnType<typeof rowsOf>[] = [];
    for (const { agent } of opened) {
      const params = listed.length === 0 ? {} : { cursor: listed.at(-1)!.cursor };
      const { response } = await exchange(world, agent, 'session/list', params, { result: page(sessions) });
      listed.push(rowsOf(response));
    }

    expect(listed.flatMap(({ titles }) => titles)).toHaveLength(15);
    expect(new Set(listed.flatMap(({ ids }) => ids)).size).toBe(15);
  });

  test('S12 S13 where nothing is remembered, the agent of the folder is started for it and opens nothing', async () => {
    world = await World.initialized({ config: '[sessions]\npersist = false' });
    const cwd = world.workspace('c');

    const id = world.ask('session/list', { cwd });
    const agent = await world.agent(cwd);
    await agent.answer('session/list', { result: page([]) });

    expect(await world.editor.response(id)).toEqual(success(id, { sessions: [] }));
    expect(await sentTo(world, agent)).toEqual([]);
  });

  test('S10 without any agent the list is empty, and none is started', async () => {
    world = await World.initialized();
    await endAgent(world, await world.agent());

    expect((await world.request('session/list', {})).result).toEqual({ sessions: [] });
    expect(world.agents).toHaveLength(1);
  });

  test('S11 an agent that fails is left out, the last one too', async () => {
    const { world: own, first, second } = await openTwo();
    world = own;
    const id = world.ask('session/list', {});
    await first.agent.answer('session/list', { error: errorOf(-32603) });
    await second.agent.answer('session/list', { result: page([row('s1', second)], 'more') });
    const { cursor } = rowsOf(await world.editor.response(id));

    await endAgent(world, second.agent);

    expect((await world.request('session/list', { cursor })).result).toEqual({ sessions: [] });
    expect(await sentTo(world, first.agent)).toEqual([]);
  });
});

describe('session/list with two agents, where nothing is listed or remembered', () => {
  let first: OpenSession;
  let second: OpenSession;
  beforeAll(async () => ({ world, first, second } = await openTwo()));
  afterAll(() => world.end());

  test.each([
    ['the last failure', { error: errorOf(-32603) }, { error: errorOf(-32004) }, -32004],
    ['that somebody has to sign in', { error: errorOf(-32000) }, { error: errorOf(-32603) }, -32000],
    ['an agent’s failure, where the others have nothing', { error: errorOf(7) }, { result: page([]) }, 7],
  ])('S11 the answer is %s', async (_, ofFirst, ofSecond, code) => {
    const id = world.ask('session/list', {});
    await first.agent.answer('session/list', ofFirst);
    await second.agent.answer('session/list', ofSecond);

    expect((await world.editor.response(id)).error).toEqual(errorOf(code));
  });
});

describe('session/list with two agents', () => {
  let first: OpenSession;
  let second: OpenSession;
  beforeAll(async () => ({ world, first, second } = await openTwo({}, '1')));
  afterAll(() => world.end());

  /** Asks for a page of which one agent is asked; what the agent got, and the page. */
  async function listed(
    params: Json,
    { agent }: OpenSession,
    result: Json,
  ): Promise<[unknown, ReturnType<typeof rowsOf>]> {
    const { request, response } = await exchange(world, agent, 'session/list', params, { result });
    return [request.params, rowsOf(response)];
  }

  test('S11 following the cursors gives each session of each agent once', async () => {
    const [asked1, page1] = await listed({ z: 1 }, first, page([row('1', first), row('2', first)], 'more'));
    const cursor1 = { z: 1, cursor: page1.cursor };
    const [asked2, page2] = await listed(cursor1, first, page([row('3', first)]));
    const cursor2 = { cursor: page2.cursor };
    const [asked3, page3] = await listed(cursor2, second, page([row('1', second)], 'more'));
    const [asked4, page4] = await listed({ cursor: page3.cursor }, second, page([row('2', second)]));

    expect([asked1, asked2]).toEqual([{ z: 1 }, { z: 1, cursor: 'more' }]);
    expect([asked3, asked4]).toEqual([{ cursor: null }, { cursor: 'more' }]);
    expect([page1, page2, page3, page4].flatMap((each) => each.titles)).toEqual(['1', '2', '3', '1', '2']);
    const ids = [page1, page2, page3, page4].flatMap((each) => each.ids);
    expect(new Set(ids).size).toBe(5);
    expect([ids[0], ids[3]]).toEqual([first.id, second.id]);
    expect(page4.cursor).toBeUndefined();
    for (const { cursor } of [page1, page2, page3]) expect(cursor).not.toBe('more');
  });

  test('S11 a cursor can be used again', async () => {
    const [, { cursor }] = await listed({}, first, page([row('1', first)], 'more'));

    for (let i = 0; i < 2; i++) {
      const [asked, { titles }] = await listed({ cursor }, first, page([row('2', first)]));
      expect([asked, titles]).toEqual([{ cursor: 'more' }, ['2']]);
    }
  });

  test.each(['more', 'x', '', '00000000-0000-4000-8000-000000000000'])(
    'S11 the foreign cursor %j is refused and reaches no agent',
    async (cursor) => {
      await listed({}, first, page([row('1', first)], 'more'));

      expect(await world.request('session/list', { cursor })).toEqual(failure(itsId, -32602));
      expect(await sentTo(world, first.agent, second.agent)).toEqual([]);
    },
  );

  test('S11 sessions that both agents list, because they share a home, are listed once', async () => {
    const own = await world.session(first.agent.cwd, 'a', first.agent);
    const other = await world.session(second.agent.cwd, 'b', second.agent);
    const all = [row('a', first), row('c', second, '/sub'), row('b', second)];

    const [, page1] = await listed({}, first, page(all));
    const [, page2] = await listed({ cursor: page1.cursor }, second, page([row('d', second), ...all]));

    expect([page1.titles, page2.titles]).toEqual([['a', 'c', 'b'], ['d']]);
    expect([page1.ids[0], page1.ids[2]]).toEqual([own.id, other.id]);
    expect(page2.cursor).toBeUndefined();
  });

  test('S11 a page with nothing on it that is not the last of its agent is passed on', async () => {
    const [, page1] = await listed({}, first, page([], 'more'));
    const [asked2, page2] = await listed({ cursor: page1.cursor }, first, page([row('1', first)]));

    expect(page1).toEqual({ ids: [], titles: [], cursor: expect.any(String) as string });
    expect(asked2).toEqual({ cursor: 'more' });
    expect(page2.ids).toEqual([first.id]);
  });

  test.each([[undefined], [{}], [{ z: 1 }], [{ cursor: null }]])(
    'S11 an agent that has nothing is passed over: %j',
    async (params) => {
      const id = world.ask('session/list', params);
      const asked = await first.agent.answer('session/list', { result: page([]) });
      const askedOther = await second.agent.answer('session/list', { result: page([row('1', second)]) });

      const rows = rowsOf(await world.editor.response(id));
      expect([asked.params, askedOther.params]).toEqual([params, params]);
      expect(rows).toEqual({ ids: [second.id], titles: ['1'], cursor: undefined });
    },
  );

  test('S11 an agent whose list never ends is asked for 20 pages, and the others follow', async () => {
    let params: Json = {};
    for (let count = 1; count <= 20; count++) {
      const [, { cursor }] = await listed(params, first, page([row(`${count}`, first)], 'repeat'));
      params = { cursor };
    }

    const [, last] = await listed(params, second, page([row('1', second)]));

    expect(last.ids[0]).toBe(second.id);
    expect(last.cursor).toBeUndefined();
    expect(await sentTo(world, first.agent)).toEqual([]);
  });

  test('S12 with a folder only the agent of its workspace is asked, page by page', async () => {
    const { cwd } = second.agent;

    const [asked1, page1] = await listed({ cwd }, second, page([row('1', second)], 'more'));
    const [asked2, page2] = await listed({ cwd, cursor: page1.cursor }, second, page([row('2', second)]));

    expect([asked1, asked2]).toEqual([{ cwd }, { cwd, cursor: 'more' }]);
    expect(page2.cursor).toBeUndefined();
    expect(await sentTo(world, first.agent)).toEqual([]);
  });

  test('S12 S13 with a folder whose agent does not run, none is started', async () => {
    const response = await world.request('session/list', { cwd: world.workspace('c') });

    expect(response.result).toEqual({ sessions: [] });
    expect(world.agents).toHaveLength(2);
  });

  test('S13 without a folder no agent is started', async () => {
    await listed({}, first, page([row('1', first)]));

    expect(world.agents).toHaveLength(2);
  });

  test('S11 _session/batch_get over several agents asks each for its own', async () => {
    const more = await world.session(first.agent.cwd, '2', first.agent);
    const method = '_session/batch_get';
    const id = world.ask(method, { a: 1.5, sessionIds: [first.id, second.id, 'unknown', more.id] });
    const ofFirst = { sessions: [row('1', first), row('2', first)], z: 1 };
    const asked = [
      await first.agent.answer(method, { result: ofFirst }),
      await second.agent.answer(method, { result: { sessions: [row('1', second)], z: 2 } }),
    ];

    expect(asked.map(({ params }) => params)).toEqual([
      { a: 1.5, sessionIds: ['1', '2'] },
      { a: 1.5, sessionIds: ['1'] },
    ]);
    const rows = [
      { ...row('1', first), sessionId: first.id },
      { ...row('2', first), sessionId: more.id },
      { ...row('1', second), sessionId: second.id },
    ];
    expect(await world.editor.response(id)).toEqual(success(id, { sessions: rows, z: 1 }));
  });

  test.each([[[]], [['unknown']]])('S11 _session/batch_get of %j is an empty list', async (sessionIds) => {
    const response = await world.request('_session/batch_get', { sessionIds });

    expect(response.result).toEqual({ sessions: [] });
  });

  test('S11 _session/batch_get that an agent refuses is refused', async () => {
    const error = errorOf(5);
    const params = { sessionIds: [second.id, first.id] };
    const { response } = await exchange(world, second.agent, '_session/batch_get', params, { error });

    expect(response.error).toEqual(error);
  });
});
