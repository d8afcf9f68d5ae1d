/** Statements S: sessions beyond the process that opened them. */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { exchange, leave, sentBy } from '../support/dialogue';
import type { Json } from '../support/inbox';
import { success } from '../support/messages';
import type { World } from '../support/world';
import { Worlds } from '../support/worlds';

describe('the next process', () => {
  const worlds = new Worlds();
  const table = (): string => join(worlds.folder, 'home/.local/state/containai/sessions.ndjson');

  afterEach(() => worlds.end());

  /** Opens a session in workspace `a` in a process that then ends; the editor's id. */
  function remembered(agentId: string): Promise<string> {
    return worlds.after(agentId, async (world) => (await world.session(world.workspace('a'), agentId)).id);
  }

  /** Loads a session in a workspace; the id that its agent is asked for. */
  async function loaded(world: World, sessionId: string, workspace = 'a'): Promise<unknown> {
    const cwd = world.workspace(workspace);
    const id = world.ask('session/load', { sessionId, cwd, mcpServers: [] });
    const agent = world.agents.find((each) => each.cwd === cwd) ?? (await world.agent(cwd));
    const request = await agent.answer('session/load', { result: null });
    await world.editor.response(id);
    return (request.params as Json).sessionId;
  }

  test.each(['session/load', 'session/resume'])('S2 %s of an id from an earlier process', async (method) => {
    const sessionId = await remembered('s1');
    const world = await worlds.begin();
    const params = { sessionId, cwd: world.workspace('a'), mcpServers: [] };

    const id = world.ask(method, params);
    const agent = await world.agent(world.workspace('a'));
    const received = await agent.inbox.next(method);
    // The schema has no id in the result, but Claude's adapter sends one.
    agent.send({ id: received.id, result: { sessionId: 's1', modes: null } });

    expect(received.params).toEqual({ ...params, sessionId: 's1' });
    expect(await world.editor.response(id)).toEqual(success(id, { sessionId, modes: null }));
    const prompt = { sessionId, prompt: [] };
    const { request } = await exchange(world, agent, 'session/prompt', prompt);
    expect(request.params).toEqual({ sessionId: 's1', prompt: [] });
  });

  test.each(['session/delete', 'session/archive', 'session/unarchive', 'session/set_title'])(
    'S2 %s of an id from an earlier process',
    async (method) => {
      const sessionId = await remembered('s1');
      const world = await worlds.begin();

      const id = world.ask(method, { sessionId, title: 'T' });
      const agent = await world.agent(world.workspace('a'));
      expect((await agent.answer(method)).params).toEqual({ sessionId: 's1', title: 'T' });
      expect(await world.editor.response(id)).toEqual(success(id, {}));
    },
  );

  test('S2 a session has the same id in every process: without the table its agent’s list tells which it is', async () => {
    const before = await remembered('s1');
    rmSync(table());
    const world = await worlds.begin();
    const cwd = world.workspace('a');

    const load = { sessionId: before, cwd, mcpServers: [] };
    const id = world.ask('session/load', load);
    const agent = await world.agent(cwd);
    const first = await agent.inbox.next('session/list');
    agent.send({ id: first.id, result: { sessions: [{ sessionId: 's0', cwd }], nextCursor: 'more' } });
    const second = await agent.answer('session/list', { result: { sessions: [{ sessionId: 's1', cwd }] } });
    const loading = await agent.answer('session/load', { result: null });

    expect([first.params, second.params]).toEqual([{}, { cursor: 'more' }]);
    expect(loading.params).toEqual({ ...load, sessionId: 's1' });
    expect(await world.editor.response(id)).toEqual(success(id, null));
  });

  test('S2 an id that no agent knows reaches it as it is', async () => {
    const before = await remembered('s1');
    rmSync(table());
    const world = await worlds.begin();
    const cwd = world.workspace('a');

    const id = world.ask('session/load', { sessionId: before, cwd, mcpServers: [] });
    const agent = await world.agent(cwd);
    const error = { code: 1, message: 'not now' };
    await agent.answer('session/list', { error });
    expect((await agent.answer('session/load', { error })).params).toMatchObject({ sessionId: before });
    expect(await world.editor.response(id)).toMatchObject({ error });
  });

  test('S2 an agent that counts from 1 in each process gets new ids, and the old ones still work', async () => {
    const before = await remembered('1');
    const world = await worlds.begin();

    const after = await world.session(world.workspace('a'), '1');

    expect(after.id).not.toBe(before);
    expect(await loaded(world, before)).toBe('1');
    expect(await loaded(world, after.id)).toBe('1');
  });

  test.each([
    ['S6', 'session/load', 500],
    ['S7', 'session/resume', 0],
  ])(
    '%s what an agent replays in %s comes before the answer, in order, and nothing else',
    async (_, method, count) => {
      const sessionId = await remembered('s1');
      const world = await worlds.begin();
      const cwd = world.workspace('a');

      const id = world.ask(method, { sessionId, cwd, mcpServers: [] });
      const agent = await world.agent(cwd);
      const { id: asked } = await agent.inbox.next(method);
      const replayed = Array.from({ length: count }, (__, n) => updateOf('s1', n));
      const lines = [...replayed, success(asked, null)].map((line) => `${JSON.stringify(line)}\n`);
      agent.send(lines.join(''));
      await world.editor.response(id);

      expect(world.editor.takeAll()).toEqual(replayed.map((__, n) => updateOf(sessionId, n)));
      expect(await sentBy(world, agent)).toEqual([]);
    },
  );

  test('S14 of a session that an earlier process has deleted reaches no agent', async () => {
    const world = await worlds.begin();
    const { id: sessionId, agent } = await world.session(world.workspace('a'), 's1');
    await exchange(world, agent, 'session/delete', { sessionId });
    await leave(world);

    const next = await worlds.begin();

    expect(await next.request('session/delete', { sessionId })).toMatchObject({ result: {} });
    expect(next.agents.filter(({ cwd }) => cwd === world.workspace('a'))).toEqual([]);
  });

  test('S2 with sessions.persist = false nothing is kept', async () => {
    const world = await worlds.begin({ config: '[sessions]\npersist = false' });
    await world.session(world.workspace('a'), 's1');
    expect(await leave(world)).toBe(0);

    expect(existsSync(table())).toBe(false);
  });

  test('S2 a table that cannot be used is not fatal', async () => {
    const world = await worlds.begin({
      prepare: (fresh) => fresh.file('home/.local/state/containai', 'a file'),
    });

    const { id, agent } = await world.session(world.workspace('a'), 's1');

    const { request } = await exchange(world, agent, 'session/status', { sessionId: id });
    expect(request.params).toEqual({ sessionId: 's1' });
    expect(await leave(world)).toBe(0);
    expect(world.stderr).toContain('session table');
  });

  test('S1 S2 two proxies at once know each other’s sessions and give no id twice', async () => {
    const [one, two] = [await worlds.begin(), await worlds.begin()];
    const cwd = one.workspace('a');

    const mine = await one.session(cwd, '1');
    const theirs = await two.session(cwd, '1');
    const more = await one.session(cwd, '2', mine.agent);

    expect(new Set([mine.id, theirs.id, more.id]).size).toBe(3);
    expect(await loaded(two, more.id)).toBe('2');
    expect(await loaded(one, theirs.id)).toBe('1');
  });
});

function updateOf(sessionId: string, n: number): Json {
  const update = { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: String(n) } };
  return { jsonrpc: '2.0', method: 'session/update', params: { sessionId, update } };
}
