/** Statements S: session/list over all agents, page by page. */
import { endAgent, exchange, sentTo } from '../support/dialogue';
import type { Json } from '../support/inbox';
import { failure, success } from '../support/messages';
import type { OpenSession } from '../support/turn';
import { World } from '../support/world';

const mount = '/home/agent/workspace';

describe('session/list', () => {
  let world: World;
  afterEach(() => world.end());

  /** A page as an agent answers it. */
  const page = (sessions: readonly Json[], nextCursor?: string): Json => ({
    sessions,
    ...(nextCursor === undefined ? {} : { nextCursor }),
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

  describe('with one agent', () => {
    let session: OpenSession;

    beforeEach(async () => {
      world = await World.initialized({ env: { CAI_ACP_WORKSPACE_MOUNT: mount } });
      session = await world.session(world.workspace('own'), 's1');
    });

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

    test.each([[{ sessions: [] }], [{ sessions: [], nextCursor: null }]])(
      'S10 no sessions are an empty list: %j',
      async (result) => {
        const { response } = await exchange(world, session.agent, 'session/list', {}, { result });

        expect(response).toEqual(success(response.id, result));
      },
    );

    test.each([[{ code: -32000, message: 'sign in', data: [] }], [{ code: -32603, message: 'broken' }]])(
      'S10 the agent’s refusal is the answer where nothing is remembered: %j',
      async (error) => {
        const { response } = await exchange(world, session.agent, 'session/list', {}, { error });

        expect(response.error).toEqual(error);
      },
    );

    test('S11 a session that is listed before it is said to be made has one id', async () => {
      const opening = world.ask('session/new', { cwd: world.workspace('own'), mcpServers: [] });
      const { id } = await session.agent.inbox.next('session/new');
      const result = { sessions: [{ sessionId: 's2', cwd: mount }] };
      const { response } = await exchange(world, session.agent, 'session/list', {}, { result });
      session.agent.send({ id, result: { sessionId: 's2' } });

      const opened = (await world.editor.response(opening)).result as Json;
      expect(rowsOf(response).ids).toEqual([opened.sessionId]);
    });

    test('S13 listing opens nothing: a listed session is unknown until it is loaded', async () => {
      const rows = [{ sessionId: 's2', cwd: mount }];
      const listing = exchange(world, session.agent, 'session/list', {}, { result: { sessions: rows } });
      const [id] = rowsOf((await listing).response).ids;

      const prompt = world.ask('session/prompt', { sessionId: id, prompt: [] });
      expect(await world.editor.response(prompt)).toEqual(failure(prompt, -32002, { sessionId: id }));
      expect(await sentTo(world, session.agent)).toEqual([]);
      const load = { sessionId: id, cwd: world.workspace('own'), mcpServers: [] };
      const { request } = await exchange(world, session.agent, 'session/load', load, { result: null });
      expect(request.params).toEqual({ ...load, sessionId: 's2', cwd: mount });
    });

    test('S13 session/status reaches the agent alone and changes nothing', async () => {
      const result = { state: { type: 'idle' }, cwd: 'x' };
      const params = { sessionId: session.id };
      const { request, response } = await exchange(world, session.agent, 'session/status', params, {
        result,
      });

      expect(request.params).toEqual({ sessionId: 's1' });
      expect(response.result).toEqual(result);
      expect(await sentTo(world, session.agent)).toEqual([]);
    });

    test('S12 a folder reaches the agent under the name it has there', async () => {
      const cwd = world.workspace('own');
      const params = { cwd, _meta: { n: 1 } };
      const { request } = await exchange(world, session.agent, 'session/list', params, { result: page([]) });

      expect(request.params).toEqual({ cwd: mount, _meta: { n: 1 } });
    });
  });

  test('S11 sessions that agents count are listed once each, though all see their workspace at one place', async () => {
    world = await World.initialized({ env: { CAI_ACP_WORKSPACE_MOUNT: mount } });
    const sessions = ['1', '2', '3', '4', '5'].map((id) => ({ sessionId: id, title: id, cwd: mount }));
    const names = ['own', 'b', 'c'];
    const opened: OpenSession[] = [];
    for (const name of names) opened.push(await world.session(world.workspace(name), 'opened'));

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
    agent.send({ id: (await agent.inbox.next('session/list')).id, result: page([]) });

    expect(await world.editor.response(id)).toEqual(success(id, { sessions: [] }));
    expect(await sentTo(world, agent)).toEqual([]);
  });

  test('S10 without any agent the list is empty, and none is started', async () => {
    world = await World.initialized();
    await endAgent(world, await world.agent());

    const response = await world.request('session/list', {});

    expect(response.result).toEqual({ sessions: [] });
    expect(world.agents).toHaveLength(1);
  });

  describe('with several agents', () => {
    let first: OpenSession;
    let second: OpenSession;
    const row = (sessionId: string, { agent }: OpenSession, below = ''): Json => ({
      sessionId,
      title: sessionId,
      cwd: `${agent.cwd}${below}`,
    });

    beforeEach(async () => {
      world = await World.initialized();
      first = await world.session(world.workspace('own'), '1');
      second = await world.session(world.workspace('b'), '1');
    });

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
      const [asked3, page3] = await listed(
        { cursor: page2.cursor },
        second,
        page([row('1', second)], 'more'),
      );
      const [asked4, page4] = await listed({ cursor: page3.cursor }, second, page([row('2', second)]));

      expect([asked1, asked2]).toEqual([{ z: 1 }, { z: 1, cursor: 'more' }]);
      expect([asked3, asked4]).toEqual([{ cursor: null }, { cursor: 'more' }]);
      const titles = [page1, page2, page3, page4].flatMap((each) => each.titles);
      expect(titles).toEqual(['1', '2', '3', '1', '2']);
      const ids = [page1, page2, page3, page4].flatMap((each) => each.ids);
      expect(new Set(ids).size).toBe(5);
      expect([ids[0], ids[3]]).toEqual([first.id, second.id]);
      expect(page4.cursor).toBeUndefined();
      for (const { cursor } of [page1, page2, page3]) expect(cursor).not.toBe('more');
    });

    test('S11 a cursor can be used again', async () => {
      const [, { cursor }] = await listed({}, first, page([row('1', first)], 'more'));

      const again = [
        await listed({ cursor }, first, page([row('2', first)])),
        await listed({ cursor }, first, page([row('2', first)])),
      ];

      expect(again.map(([asked]) => asked)).toEqual([{ cursor: 'more' }, { cursor: 'more' }]);
      expect(again.map(([, { titles }]) => titles)).toEqual([['2'], ['2']]);
    });

    test.each(['more', 'x', '', '00000000-0000-4000-8000-000000000000'])(
      'S11 the foreign cursor %j is refused and reaches no agent',
      async (cursor) => {
        await listed({}, first, page([row('1', first)], 'more'));

        const id = world.ask('session/list', { cursor });

        expect(await world.editor.response(id)).toEqual(failure(id, -32602));
        expect([await sentTo(world, first.agent), await sentTo(world, second.agent)]).toEqual([[], []]);
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
        const asked = await first.agent.inbox.next('session/list');
        first.agent.send({ id: asked.id, result: page([]) });
        const askedOther = await second.agent.inbox.next('session/list');
        second.agent.send({ id: askedOther.id, result: page([row('1', second)]) });

        const response = await world.editor.response(id);
        expect([asked.params, askedOther.params]).toEqual([params, params]);
        expect(rowsOf(response)).toEqual({ ids: [second.id], titles: ['1'], cursor: undefined });
      },
    );

    test('S11 an agent that fails is left out, the last one too', async () => {
      const id = world.ask('session/list', {});
      const asked = await first.agent.inbox.next('session/list');
      first.agent.send({ id: asked.id, error: { code: -32603, message: 'broken' } });
      const other = await second.agent.inbox.next('session/list');
      second.agent.send({ id: other.id, result: page([row('1', second)], 'more') });
      const { cursor } = rowsOf(await world.editor.response(id));

      await endAgent(world, second.agent);
      const rest = await world.request('session/list', { cursor });

      expect(rest.result).toEqual({ sessions: [] });
      expect(await sentTo(world, first.agent)).toEqual([]);
    });

    test.each([
      ['the last failure', -32603, -32004],
      ['that somebody has to sign in', -32000, -32603],
    ])('S11 where nothing is listed or remembered, the answer is %s', async (_, code1, code2) => {
      const errors = [code1, code2].map((code) => ({ code, message: `${code}` }));

      const id = world.ask('session/list', {});
      for (const [index, { agent }] of [first, second].entries()) {
        agent.send({ id: (await agent.inbox.next('session/list')).id, error: errors[index] });
      }

      const told = code1 === -32000 ? errors[0] : errors[1];
      expect((await world.editor.response(id)).error).toEqual(told);
    });

    test('S11 an agent’s failure is the answer, too, where the others have nothing', async () => {
      const error = { code: -32603, message: 'broken' };

      const id = world.ask('session/list', {});
      first.agent.send({ id: (await first.agent.inbox.next('session/list')).id, error });
      second.agent.send({ id: (await second.agent.inbox.next('session/list')).id, result: page([]) });

      expect((await world.editor.response(id)).error).toEqual(error);
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
      const sessionIds = [first.id, second.id, 'unknown', more.id];

      const id = world.ask('_session/batch_get', { a: 1.5, sessionIds });
      const asked = [await first.agent.inbox.next('_session/batch_get')];
      first.agent.send({ id: asked[0]!.id, result: { sessions: [row('1', first), row('2', first)], z: 1 } });
      asked.push(await second.agent.inbox.next('_session/batch_get'));
      second.agent.send({ id: asked[1]!.id, result: { sessions: [row('1', second)], z: 2 } });

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
      const error = { code: 5, message: 'no' };
      const params = { sessionIds: [second.id, first.id] };
      const { response } = await exchange(world, second.agent, '_session/batch_get', params, { error });

      expect(response.error).toEqual(error);
    });
  });
});
