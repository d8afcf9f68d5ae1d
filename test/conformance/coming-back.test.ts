/** Statements S: sessions that are remembered, and no agent runs that could be asked for them. */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { endAgent, exchange, leave, sentTo, startCall } from '../support/dialogue';
import type { Json } from '../support/inbox';
import { hastened } from '../support/hastened';
import { failure, itsId, success } from '../support/messages';
import { startTurn, type OpenSession } from '../support/turn';
import type { World } from '../support/world';
import { Worlds } from '../support/worlds';

/** No workspace, so that no agent is started before a session needs it. */
const nowhere = { cwd: '/' };
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string;

const worlds = new Worlds();
afterEach(() => worlds.end());

/** Opens a session in a workspace, and has a turn in it. */
async function used(world: World, workspace: string, agentId: string): Promise<OpenSession> {
  const cwd = world.workspace(workspace);
  const session = await world.session(
    cwd,
    agentId,
    world.agents.find((agent) => agent.cwd === cwd),
  );
  await (await startTurn(world, session)).end();
  return session;
}

/** As `used`, in a process that has ended. */
function usedBefore(workspace: string, agentId: string): Promise<{ id: string }> {
  return worlds.after(`${workspace} ${agentId}`, (world) => used(world, workspace, agentId));
}

async function rename(world: World, { id, agent, agentId }: OpenSession, title: unknown): Promise<void> {
  agent.update(agentId, { sessionUpdate: 'session_info_update', title });
  await world.editor.next(({ method, params }) => {
    const { sessionId, update } = (params ?? {}) as { sessionId?: unknown; update?: Json };
    return method === 'session/update' && sessionId === id && update?.sessionUpdate === 'session_info_update';
  });
}

/** The rows of a list that no agent is asked for. */
async function listed(world: World, params: Json = {}): Promise<unknown> {
  const { result } = await world.request('session/list', params);
  return (result as Json).sessions;
}

describe('session/list of the next process', () => {
  test('S10 S13 has what was used, with title and time, the last used first, and starts no agent', async () => {
    const world = await worlds.begin();
    const one = await used(world, 'a', 's1');
    await rename(world, one, 'Old title');
    await rename(world, one, 'Mend the ☃\u001b[31m');
    const two = await used(world, 'b', 's2');
    await world.session(world.workspace('a'), 'never used', one.agent);
    await leave(world);

    const next = await worlds.begin(nowhere);

    expect(await listed(next)).toEqual([
      { sessionId: two.id, cwd: two.agent.cwd, updatedAt: time },
      { sessionId: one.id, cwd: one.agent.cwd, title: 'Mend the ☃\u001b[31m', updatedAt: time },
    ]);
    expect(next.agents).toEqual([]);
  });

  test('S2 S10 a session of it can be loaded, prompted and listed again', async () => {
    const { id: sessionId } = await usedBefore('a', 's1');
    const world = await worlds.begin(nowhere);
    const [row] = (await listed(world)) as Json[];

    const id = world.ask('session/load', { sessionId: row!.sessionId, cwd: row!.cwd, mcpServers: [] });
    const agent = await world.agent(world.workspace('a'));
    const loading = await agent.answer('session/load', { result: null });
    await world.editor.response(id);
    const turn = await startTurn(world, { id: sessionId, agentId: 's1', agent });

    expect(loading.params).toMatchObject({ sessionId: 's1' });
    expect(turn.received.params).toMatchObject({ sessionId: 's1' });
    await turn.end();
    const info = { sessionId: 's1', cwd: agent.cwd, title: 'by the agent' };
    const listing = await exchange(world, agent, 'session/list', {}, { result: { sessions: [info] } });
    expect(listing.response.result).toEqual({ sessions: [{ ...info, sessionId }] });
  });

  test('S12 with a folder has those of that folder, however it is spelled', async () => {
    const world = await worlds.begin();
    const one = await used(world, 'a', 's1');
    const below = world.file('a/sub/file', '').replace(/.file$/, '');
    const inside = await world.session(below, 's2', one.agent);
    await (await startTurn(world, inside)).end();
    await used(world, 'b', 's3');
    await leave(world);

    const next = await worlds.begin(nowhere);

    const ids = async (cwd: string): Promise<unknown[]> => {
      return ((await listed(next, { cwd })) as Json[]).map(({ sessionId }) => sessionId);
    };
    expect(await ids(world.workspace('a'))).toEqual([one.id]);
    expect(await ids(`${world.workspace('a')}/`)).toEqual([one.id]);
    expect(await ids(below)).toEqual([inside.id]);
    expect(next.agents).toEqual([]);
  });

  test('S11 the row of an agent that runs wins, and what it no longer has is left out', async () => {
    const world = await worlds.begin();
    const one = await used(world, 'own', 's1');
    const gone = await used(world, 'own', 's2');
    const other = await used(world, 'b', 's3');
    await rename(world, other, 'B');
    await leave(world);
    const next = await worlds.begin();
    const own = await next.agent(next.workspace('own'));

    const shared = { sessionId: 's3', cwd: other.agent.cwd, title: 'B, as its agent says' };
    const rows = [{ sessionId: 's1', cwd: own.cwd, title: 'A' }];
    const { response } = await exchange(next, own, 'session/list', {}, { result: { sessions: rows } });
    const again = await exchange(next, own, 'session/list', {}, { result: { sessions: [...rows, shared] } });

    expect(response.result).toEqual({
      sessions: [
        { ...rows[0], sessionId: one.id },
        { sessionId: other.id, cwd: other.agent.cwd, title: 'B', updatedAt: time },
      ],
    });
    expect((again.response.result as Json).sessions).toEqual([
      { ...rows[0], sessionId: one.id },
      { ...shared, sessionId: other.id },
    ]);
    expect(JSON.stringify(response)).not.toContain(gone.id);
  });

  test('S10 what an agent’s list has said of a session is said without it, too', async () => {
    const world = await worlds.begin();
    const session = await world.session(world.workspace('a'), 's1');
    const info = {
      sessionId: 's9',
      cwd: session.agent.cwd,
      title: 'Elsewhere',
      updatedAt: '2026-01-02T03:04:05Z',
    };
    await endAgent(
      world,
      world.agents.find(({ cwd }) => cwd === world.workspace('own'))!,
    );
    await exchange(world, session.agent, 'session/list', {}, { result: { sessions: [info] } });
    await endAgent(world, session.agent);

    expect(await listed(world)).toEqual([
      { ...info, sessionId: expect.any(String) as string, updatedAt: '2026-01-02T03:04:05.000Z' },
    ]);
  });

  test('S11 more than fit on a page are on the next ones', async () => {
    const world = await worlds.begin();
    const { agent } = await world.session(world.workspace('a'), 's0');
    const rows = Array.from({ length: 250 }, (_, n) => ({
      sessionId: `s${n}`,
      cwd: agent.cwd,
      title: `${n}`,
    }));
    await endAgent(
      world,
      world.agents.find(({ cwd }) => cwd === world.workspace('own'))!,
    );
    await exchange(world, agent, 'session/list', {}, { result: { sessions: rows } });
    await leave(world);
    const next = await worlds.begin(nowhere);

    const page1 = (await next.request('session/list', {})).result as Json;
    const page2 = (await next.request('session/list', { cursor: page1.nextCursor })).result as Json;

    const titles = [page1, page2].flatMap(({ sessions }) => (sessions as Json[]).map(({ title }) => title));
    expect(titles.map(Number).sort((one, other) => one - other)).toEqual(rows.map((_, n) => n));
    expect((page1.sessions as unknown[]).length).toBe(200);
    expect(page2.nextCursor).toBeUndefined();
  });

  test('S8 is refused before an agent runs, as after that, where the editor was not offered it', async () => {
    const agentHello = { protocolVersion: 1, agentCapabilities: { loadSession: true } };
    const before = await worlds.begin({ agentHello });
    await used(before, 'a', 's1');
    await leave(before);
    const world = await worlds.begin({ ...nowhere, agentHello });

    const early = await world.request('session/list', {});
    await world.session(world.workspace('a'), 's2');
    const later = await world.request('session/list', {});

    expect(early).toEqual(failure(early.id, -32601, { method: 'session/list' }));
    expect(later.error).toEqual(early.error);
  });

  test('S10 leaves out a workspace as long as it is not there', async () => {
    await usedBefore('a', 's1');
    rmSync(join(worlds.folder, 'a'), { recursive: true });
    const next = await worlds.begin(nowhere);

    expect(await listed(next)).toEqual([]);
    next.workspace('a');
    expect(await listed(next)).toHaveLength(1);
  });

  test('S10 an agent that cannot be started keeps nobody from what is remembered', async () => {
    const { id } = await usedBefore('own', 's1');
    const next = await worlds.begin({ agentHello: false, config: '[restart]\nattempts = 1' });

    const agent = await next.agent(next.workspace('own'));
    const request = next.ask('session/list', {});
    agent.order({ exit: 3 });

    expect(await next.editor.response(request)).toMatchObject({ result: { sessions: [{ sessionId: id }] } });
  });

  test.each([[undefined], ['own']])(
    'S10 an agent that is long in starting keeps nobody from what is remembered: folder %s',
    async (folder) => {
      const { id } = await usedBefore('own', 's1');
      const next = await worlds.begin({ agentHello: false, env: hastened });
      await next.agent(next.workspace('own'));

      const rows = await listed(next, folder === undefined ? {} : { cwd: next.workspace(folder) });

      expect(rows).toMatchObject([{ sessionId: id }]);
    },
  );

  test('S11 an agent that fails keeps nobody from what is remembered, of its own workspace too', async () => {
    const before = await worlds.begin();
    const one = await used(before, 'own', 's1');
    const two = await used(before, 'b', 's2');
    await leave(before);
    const world = await worlds.begin();
    const own = await world.agent(world.workspace('own'));
    const refuse = async (error: Json): Promise<Json> =>
      (await exchange(world, own, 'session/list', {}, { error })).response;

    const broken = await refuse({ code: -32603, message: 'broken' });
    const signIn = await refuse({ code: -32000, message: 'sign in' });

    expect(broken.result).toMatchObject({ sessions: [{ sessionId: two.id }, { sessionId: one.id }] });
    expect(signIn.error).toEqual({ code: -32000, message: 'sign in' });
  });

  test('X4 a list that was cancelled is answered so, whatever is remembered', async () => {
    await usedBefore('own', 's1');
    const world = await worlds.begin();
    const own = await world.agent(world.workspace('own'));
    const error = { code: -32800, message: 'cancelled' };

    const call = await startCall(world, own, 'session/list', {});
    world.send({ method: '$/cancel_request', params: { requestId: call.id } });
    await own.inbox.next('$/cancel_request');
    expect((await call.end({ error })).error).toEqual(error);
  });

  test('S11 an agent that does not answer keeps nobody from what is remembered', async () => {
    const { id } = await usedBefore('own', 's1');
    const world = await worlds.begin({ env: hastened });
    const own = await world.agent(world.workspace('own'));
    // It has started.
    await sentTo(world, own);

    expect(await listed(world)).toMatchObject([{ sessionId: id }]);
    expect(await sentTo(world, own)).toMatchObject([{ method: 'session/list' }]);
  });

  test('S10 an agent’s list leaves what another process has written', async () => {
    const world = await worlds.begin();
    const one = await used(world, 'a', 's1');
    await exchange(world, one.agent, 'session/close', { sessionId: one.id });
    const other = await worlds.begin(nowhere);
    const load = { sessionId: one.id, cwd: one.agent.cwd, mcpServers: [] };
    const id = other.ask('session/load', load);
    const agent = await other.agent(one.agent.cwd);
    await agent.answer('session/load', { result: null });
    await other.editor.response(id);
    await rename(other, { ...one, agent }, 'Title of the other');
    // The turn of the event loop in which it came is over, and the title written.
    await other.request('initialize', { protocolVersion: 1 });

    const own = world.agents.find(({ cwd }) => cwd === world.workspace('own'))!;
    await endAgent(world, own);
    const row = { sessionId: 's1', cwd: one.agent.cwd, updatedAt: '2100-01-01T00:00:00Z' };
    await exchange(world, one.agent, 'session/list', {}, { result: { sessions: [row] } });

    const [kept] = (await listed(await worlds.begin(nowhere))) as Json[];
    expect(kept).toMatchObject({ sessionId: one.id, title: 'Title of the other' });
  });

  test('S14 has nothing that another process has deleted', async () => {
    const [one, two] = [await worlds.begin(nowhere), await worlds.begin(nowhere)];
    const session = await used(one, 'a', 's1');
    await endAgent(one, session.agent);
    expect(await listed(two)).toHaveLength(1);

    const id = one.ask('session/delete', { sessionId: session.id });
    const agent = await one.agent(one.workspace('a'));
    await agent.answer('session/delete');
    await one.editor.response(id);

    expect(await listed(two)).toEqual([]);
    expect(
      readFileSync(join(one.folder, 'home/.local/state/containai/sessions.ndjson'), 'utf8'),
    ).not.toContain('s1');
  });
});

describe('a title', () => {
  test('is known to others at once, also when the proxy is killed', async () => {
    const world = await worlds.begin();
    await rename(world, await used(world, 'a', 's1'), 'A');
    // The turn of the event loop in which it came is over, and the title written.
    await world.request('initialize', { protocolVersion: 1 });
    world.process.kill('SIGKILL');
    await world.exited();

    expect(await listed(await worlds.begin(nowhere))).toMatchObject([{ title: 'A', updatedAt: time }]);
  });
});

describe('a session that is remembered and not open', () => {
  test.each([
    ['with its folder', (world: World): Json => ({ cwd: world.workspace('a'), mcpServers: [] })],
    ['without a folder', (): Json => ({})],
  ])('S17 is forked in the agent of its workspace, %s', async (_, place) => {
    const { id: sessionId } = await usedBefore('a', 's1');
    const world = await worlds.begin(nowhere);

    const params = { sessionId, ...place(world) };
    const id = world.ask('session/fork', params);
    const agent = await world.agent(world.workspace('a'));
    const request = await agent.answer('session/fork', { result: { sessionId: 'f1' } });

    expect(request.params).toEqual({ ...params, sessionId: 's1' });
    const response = await world.editor.response(id);
    const fork = (response.result as Json).sessionId as string;
    expect([sessionId, 'f1', 's1']).not.toContain(fork);
    const turn = await startTurn(world, { id: fork, agentId: 'f1', agent });
    expect(turn.received.params).toMatchObject({ sessionId: 'f1' });
  });

  test('S17 is not forked into another workspace, nor is one that nobody knows', async () => {
    const { id: sessionId } = await usedBefore('a', 's1');
    const world = await worlds.begin(nowhere);

    const elsewhere = await world.request('session/fork', { sessionId, cwd: world.workspace('b') });
    const unknown = await world.request('session/fork', { sessionId: 'x', cwd: world.workspace('b') });

    expect(elsewhere).toEqual(failure(elsewhere.id, -32602));
    expect(unknown).toEqual(failure(unknown.id, -32002, { sessionId: 'x' }));
    expect(world.agents).toEqual([]);
  });

  test('S14 is forgotten when it is deleted and its workspace is no longer there', async () => {
    const { id: sessionId } = await usedBefore('a', 's1');
    rmSync(join(worlds.folder, 'a'), { recursive: true });
    const world = await worlds.begin(nowhere);

    expect(await world.request('session/delete', { sessionId })).toEqual(success(itsId, {}));
    expect(world.agents).toEqual([]);
    world.workspace('a');
    expect(await listed(world)).toEqual([]);
  });
});

describe('a session that its agent does not have any more', () => {
  test('S14 is forgotten when it is deleted, with the agent’s answer', async () => {
    const { id: sessionId } = await usedBefore('own', 's1');
    const world = await worlds.begin();
    const own = await world.agent(world.workspace('own'));
    const error = { code: -32002, message: 'no such session', data: { z: 1 } };

    const { response } = await exchange(world, own, 'session/delete', { sessionId }, { error });

    expect(response.error).toEqual(error);
    expect((await world.request('session/delete', { sessionId })).result).toEqual({});
    await endAgent(world, own);
    expect(await listed(world)).toEqual([]);
  });

  test.each([
    ['that is open', 'own', -32002],
    ['that its agent could not delete', 'a', -32603],
  ])('S14 one %s is still remembered', async (_, workspace, code) => {
    const world = await worlds.begin();
    const session = await used(world, workspace, 's1');
    const params = { sessionId: session.id };
    const isOpen = code === -32002;
    if (!isOpen) await exchange(world, session.agent, 'session/close', params);

    await exchange(world, session.agent, 'session/delete', params, { error: { code, message: 'no' } });

    if (isOpen) await (await startTurn(world, session)).end();
    for (const agent of [...world.agents]) await endAgent(world, agent);
    expect(await listed(world)).toMatchObject([{ sessionId: session.id }]);
  });
});
