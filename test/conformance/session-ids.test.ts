/** Statements S, J: which session an id stands for, within one process. */
import { endAgent, exchange, sentBy, sentTo, startCall } from '../support/dialogue';
import type { Json } from '../support/inbox';
import { failure, itsId, success } from '../support/messages';
import { openFresh, use, type OpenSession } from '../support/turn';
import { World } from '../support/world';

const derived = /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const random = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const unknown = '00000000-0000-4000-8000-000000000000';

/** What the editor and the agent call a session, as each of them sees it in messages both ways. */
async function expectBound(world: World, { id, agentId, agent }: OpenSession): Promise<void> {
  const params = { sessionId: id, modeId: 'm' };
  const { request } = await exchange(world, agent, 'session/set_mode', params);
  expect(request.params).toEqual({ sessionId: agentId, modeId: 'm' });
  agent.say(agentId, 'hello');
  expect(await sentBy(world, agent)).toMatchObject([{ params: { sessionId: id } }]);
}

describe('session ids', () => {
  let world: World;
  beforeAll(async () => void (world = await World.initialized()));
  afterAll(() => world.end());

  async function expectUnknown(sessionId: string): Promise<void> {
    const response = await world.request('session/prompt', { sessionId, prompt: [] });
    expect(response).toEqual(failure(itsId, -32002, { sessionId }));
  }

  test('S1 an id is a UUID that is derived from what names the session', async () => {
    const [{ id }, other] = [await openFresh(world), await openFresh(world)];
    const further = await world.session(other.agent.cwd, 's2', other.agent);

    for (const each of [id, other.id, further.id]) expect(each).toMatch(derived);
    expect(new Set([id, other.id, further.id]).size).toBe(3);
  });

  test('S1 an agent that counts anew after its end gets another id for the editor', async () => {
    const before = await openFresh(world, '1');
    await use(world, before);
    await endAgent(world, before.agent);

    const after = await world.session(before.agent.cwd, '1');

    expect(after.id).not.toBe(before.id);
    await expectBound(world, after);
    await expectUnknown(before.id);
  });

  test('S16 of an id that an agent gives twice, the editor’s older one is unknown', async () => {
    const older = await openFresh(world, '1');

    const newer = await world.session(older.agent.cwd, '1', older.agent);

    expect(newer.id).not.toBe(older.id);
    await expectBound(world, newer);
    await expectUnknown(older.id);
  });

  test('S16 an id that we never gave stays as it is for that session', async () => {
    const { id, agent } = await openFresh(world, '1');
    const params = { sessionId: '1', cwd: agent.cwd, mcpServers: [] };

    const { request, response } = await exchange(world, agent, 'session/load', params, { result: null });

    expect(request.params).toEqual(params);
    expect(response).toEqual(success(request.id, null));
    await expectBound(world, { id: '1', agentId: '1', agent });
    await expectUnknown(id);
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
    const response = await world.request(method, { sessionId: unknown });

    expect(response).toEqual(failure(itsId, -32002, { sessionId: unknown }));
    expect(await sentTo(world, world.agents[0]!)).toEqual([]);
  });

  describe.each(['session/load', 'session/resume'])('%s that the agent refuses', (method) => {
    const error = (sessionId: string): Json => ({ code: -32002, message: 'gone', data: { sessionId, n: 1 } });

    async function expectRefused({ id, agent }: OpenSession): Promise<void> {
      const params = { sessionId: id, cwd: agent.cwd, mcpServers: [] };
      const { response } = await exchange(world, agent, method, params, { error: error('s1') });
      expect(response.error).toEqual(error(id));
    }

    test('S16 names the editor’s id, and opens nothing', async () => {
      const session = await openFresh(world);
      await exchange(world, session.agent, 'session/close', { sessionId: session.id });

      await expectRefused(session);
      await expectUnknown(session.id);
    });

    test('S16 leaves the session open that is open', async () => {
      const session = await openFresh(world);

      await expectRefused(session);
      await expectBound(world, session);
    });
  });

  test('S16 an agent that does not know its session says so with the editor’s id', async () => {
    const { id, agent } = await openFresh(world);
    const error = (sessionId: string): Json => ({ code: -32002, message: 's1 is gone', data: { sessionId } });

    const params = { sessionId: id, prompt: [] };
    const { response } = await exchange(world, agent, 'session/prompt', params, { error: error('s1') });

    expect(response.error).toEqual(error(id));
  });

  test('S1 what an agent says of a session before it has answered session/new has its id', async () => {
    const { agent } = await openFresh(world, 's0');
    const count = world.editor.lines.length;
    const opening = await startCall(world, agent, 'session/new', { cwd: agent.cwd, mcpServers: [] });

    agent.update('s1', { sessionUpdate: 'available_commands_update', availableCommands: [] });
    agent.send({ id: 0, method: 'session/request_permission', params: { sessionId: 's1', options: [] } });
    agent.send({ id: opening.received.id, result: { sessionId: 's1' } });
    agent.say('s1', 'hello');
    const response = await world.editor.response(opening.id);

    const sessionId = expect.stringMatching(derived) as string;
    expect(response).toEqual(success(opening.id, { sessionId }));
    const id = (response.result as { sessionId: string }).sessionId;
    expect(await sentBy(world, agent)).toMatchObject([
      { method: 'session/update', params: { sessionId: id } },
      { method: 'session/request_permission', params: { sessionId: id } },
      { method: 'session/update', params: { sessionId: id } },
    ]);
    const place = world.editor.lines.findIndex((line) => line.includes(`"id":${opening.id},`));
    expect(place - count).toBe(2);
    await expectBound(world, { id, agentId: 's1', agent });
  });
});

test('S1 agents of one workspace that both count from 1 have sessions of their own', async () => {
  const world = await World.initialized({ config: '[agent]\nprocess = "session"' });
  try {
    const cwd = world.workspace('a');
    const [first, second] = [await world.session(cwd, '1'), await world.session(cwd, '1')];

    expect(first.id).toMatch(derived);
    expect(second.id).toMatch(random);
    expect(first.agent).not.toBe(second.agent);
    for (const each of [first, second]) await expectBound(world, each);
  } finally {
    await world.end();
  }
});
