/** Statements S, J: which session an id stands for, within one process. */
import { endAgent, exchange, sentBy, sentTo } from '../support/dialogue';
import type { Json } from '../support/inbox';
import { failure, success } from '../support/messages';
import { use, type OpenSession } from '../support/turn';
import { World } from '../support/world';

const derived = /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const random = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const unknown = '00000000-0000-4000-8000-000000000000';

describe('session ids', () => {
  let world: World;
  afterEach(() => world.end());

  /** What the editor and the agent call a session, as each of them sees it in messages both ways. */
  async function expectBound({ id, agentId, agent }: OpenSession): Promise<void> {
    const params = { sessionId: id, modeId: 'm' };
    const { request } = await exchange(world, agent, 'session/set_mode', params);
    expect(request.params).toEqual({ sessionId: agentId, modeId: 'm' });
    agent.say(agentId, 'hello');
    expect(await sentBy(world, agent)).toMatchObject([{ params: { sessionId: id } }]);
  }

  test('S1 an id is a UUID that is derived from what names the session', async () => {
    world = await World.initialized();

    const { id } = await world.session(world.workspace('a'), 's1');
    const other = await world.session(world.workspace('b'), 's1');
    const further = await world.session(world.workspace('b'), 's2', other.agent);

    for (const each of [id, other.id, further.id]) expect(each).toMatch(derived);
    expect(new Set([id, other.id, further.id]).size).toBe(3);
  });

  test('S1 agents of one workspace that both count from 1 have sessions of their own', async () => {
    world = await World.initialized({ config: '[agent]\nprocess = "session"' });
    const cwd = world.workspace('a');

    const sessions = [await world.session(cwd, '1'), await world.session(cwd, '1')] as const;

    expect(sessions[0].id).toMatch(derived);
    expect(sessions[1].id).toMatch(random);
    expect(sessions[0].agent).not.toBe(sessions[1].agent);
    for (const each of sessions) await expectBound(each);
  });

  test('S1 an agent that counts anew after its end gets another id for the editor', async () => {
    world = await World.initialized();
    const cwd = world.workspace('a');
    const before = await world.session(cwd, '1');
    await use(world, before);
    await endAgent(world, before.agent);

    const after = await world.session(cwd, '1');

    expect(after.id).not.toBe(before.id);
    await expectBound(after);
    const stale = world.ask('session/set_mode', { sessionId: before.id, modeId: 'm' });
    expect(await world.editor.response(stale)).toEqual(failure(stale, -32002, { sessionId: before.id }));
  });

  test('S16 of an id that an agent gives twice, the editor’s older one is unknown', async () => {
    world = await World.initialized();
    const older = await world.session(world.workspace('a'), '1');

    const newer = await world.session(world.workspace('a'), '1', older.agent);

    expect(newer.id).not.toBe(older.id);
    await expectBound(newer);
    const stale = world.ask('session/prompt', { sessionId: older.id, prompt: [] });
    expect(await world.editor.response(stale)).toEqual(failure(stale, -32002, { sessionId: older.id }));
  });

  test('S16 an id that we never gave stays as it is for that session', async () => {
    world = await World.initialized();
    const given = await world.session(world.workspace('own'), '1');
    const params = { sessionId: '1', cwd: world.workspace('own'), mcpServers: [] };

    const { request, response } = await exchange(world, given.agent, 'session/load', params, {
      result: null,
    });

    expect(request.params).toEqual(params);
    expect(response).toEqual(success(request.id, null));
    await expectBound({ id: '1', agentId: '1', agent: given.agent });
    const stale = world.ask('session/prompt', { sessionId: given.id, prompt: [] });
    expect(await world.editor.response(stale)).toEqual(failure(stale, -32002, { sessionId: given.id }));
  });

  test.each([
    'session/prompt',
    'session/set_mode',
    'session/set_config_option',
    'session/fork',
    'session/status',
    'session/archive',
    'session/unarchive',
    'session/set_title',
    'session/close',
    'session/end',
    'session/set_model',
    '_session/steering',
    '_session/goal',
  ])('S16 %s for an unknown session gets -32002 that names it', async (method) => {
    world = await World.initialized();
    const agent = await world.agent();

    const id = world.ask(method, { sessionId: unknown });

    expect(await world.editor.response(id)).toEqual(failure(id, -32002, { sessionId: unknown }));
    expect(await sentTo(world, agent)).toEqual([]);
  });

  describe.each(['session/load', 'session/resume'])('%s that the agent refuses', (method) => {
    let session: OpenSession;
    const error = (sessionId: string): Json => ({ code: -32002, message: 'gone', data: { sessionId, n: 1 } });

    beforeEach(async () => {
      world = await World.initialized();
      session = await world.session(world.workspace('own'), 's1');
    });

    async function refusal(): Promise<unknown> {
      const params = { sessionId: session.id, cwd: world.workspace('own'), mcpServers: [] };
      const { response } = await exchange(world, session.agent, method, params, { error: error('s1') });
      return response.error;
    }

    test('S16 names the editor’s id, and opens nothing', async () => {
      const { id, agent } = session;
      await exchange(world, agent, 'session/close', { sessionId: id });

      expect(await refusal()).toEqual(error(id));

      const prompt = world.ask('session/prompt', { sessionId: id, prompt: [] });
      expect(await world.editor.response(prompt)).toEqual(failure(prompt, -32002, { sessionId: id }));
    });

    test('S16 leaves the session open that is open', async () => {
      expect(await refusal()).toEqual(error(session.id));

      await expectBound(session);
    });
  });

  test('S16 an agent that does not know its session says so with the editor’s id', async () => {
    world = await World.initialized();
    const { id, agent } = await world.session(world.workspace('own'), 's1');
    const error = (sessionId: string): Json => ({ code: -32002, message: 'gone', data: { sessionId } });

    const params = { sessionId: id, prompt: [] };
    const { response } = await exchange(world, agent, 'session/prompt', params, { error: error('s1') });

    expect(response.error).toEqual(error(id));
  });

  test('S1 what an agent says of a session before it has answered session/new has its id', async () => {
    world = await World.initialized();
    const agent = await world.agent();
    const opening = world.ask('session/new', { cwd: world.workspace('own'), mcpServers: [] });
    const received = await agent.inbox.next('session/new');

    agent.update('s1', { sessionUpdate: 'available_commands_update', availableCommands: [] });
    agent.send({ id: 0, method: 'session/request_permission', params: { sessionId: 's1', options: [] } });
    agent.send({ id: received.id, result: { sessionId: 's1' } });
    agent.say('s1', 'hello');
    const sessionId = expect.stringMatching(derived) as string;

    const response = await world.editor.response(opening);
    expect(response).toEqual(success(opening, { sessionId }));
    const id = (response.result as { sessionId: string }).sessionId;
    expect(await sentBy(world, agent)).toMatchObject([
      { method: 'session/update', params: { sessionId: id } },
      { method: 'session/request_permission', params: { sessionId: id } },
      { method: 'session/update', params: { sessionId: id } },
    ]);
    expect(world.editor.lines.findIndex((line) => line.includes(`"id":${opening},`))).toBe(3);
    await expectBound({ id, agentId: 's1', agent });
  });
});
