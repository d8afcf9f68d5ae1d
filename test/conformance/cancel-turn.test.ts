/** Statements P: how a turn is cancelled. */
import { endAgents, sentBy, sentTo } from '../support/dialogue';
import { openFresh, askEditor, chunk, permissionParams, startTurn, type OpenSession } from '../support/turn';
import { World } from '../support/world';

describe('session/cancel', () => {
  let world: World;
  let session: OpenSession;
  beforeAll(async () => void (world = await World.initialized()));
  beforeEach(async () => void (session = await openFresh(world, 's')));
  afterEach(() => endAgents(world, session.agent));
  afterAll(() => world.end());

  test('P5 reaches the agent while its prompt is open, and the prompt is answered by the agent alone', async () => {
    const turn = await startTurn(world, session);

    world.send({ method: 'session/cancel', params: { sessionId: session.id, _meta: { why: 'user' } } });
    const cancel = await session.agent.inbox.next('session/cancel');
    const answeredByProxy = await sentBy(world, session.agent);
    const response = await turn.end({ stopReason: 'cancelled' });

    expect(cancel).toEqual({
      jsonrpc: '2.0',
      method: 'session/cancel',
      params: { sessionId: 's', _meta: { why: 'user' } },
    });
    expect(answeredByProxy).toEqual([]);
    expect(response).toEqual({ jsonrpc: '2.0', id: turn.id, result: { stopReason: 'cancelled' } });
  });

  test('P5 stays behind the prompt that it is sent after', async () => {
    world.ask('session/prompt', { sessionId: session.id, prompt: [] });
    world.send({ method: 'session/cancel', params: { sessionId: session.id } });

    const received = await sentTo(world, session.agent);

    expect(received.map(({ method }) => method)).toEqual(['session/prompt', 'session/cancel']);
  });

  test('P6 each open permission request is answered cancelled by the editor, to the agent that asked', async () => {
    const other = await world.session(world.workspace('other'), 's');
    const asked = [];
    for (const [agent, id] of [
      [session.agent, 0],
      [session.agent, 'b'],
      [other.agent, 0],
    ] as const) {
      const request = { id, method: 'session/request_permission', params: permissionParams('s') };
      asked.push(await askEditor(world, agent, request));
    }

    world.send({ method: 'session/cancel', params: { sessionId: session.id } });
    const cancelled = { outcome: { outcome: 'cancelled' } };
    for (const { id } of asked.reverse()) world.send({ id, result: cancelled });

    expect(await sentTo(world, session.agent)).toEqual([
      { jsonrpc: '2.0', method: 'session/cancel', params: { sessionId: 's' } },
      { jsonrpc: '2.0', id: 'b', result: cancelled },
      { jsonrpc: '2.0', id: 0, result: cancelled },
    ]);
    expect(await sentTo(world, other.agent)).toEqual([{ jsonrpc: '2.0', id: 0, result: cancelled }]);
  });

  test('P6 a permission request that the editor leaves open is not answered by the proxy', async () => {
    const params = permissionParams('s');
    const asked = await askEditor(world, session.agent, {
      id: 0,
      method: 'session/request_permission',
      params,
    });

    world.send({ method: 'session/cancel', params: { sessionId: session.id } });
    const received = await sentTo(world, session.agent);
    world.send({ id: asked.id, error: { code: -32603, message: 'no' } });

    expect(received.map(({ method }) => method)).toEqual(['session/cancel']);
    expect(await session.agent.inbox.response(0)).toMatchObject({ error: { message: 'no' } });
  });

  test('P7 updates after it still come, before the answer to the prompt', async () => {
    const turn = await startTurn(world, session);
    world.send({ method: 'session/cancel', params: { sessionId: session.id } });
    await session.agent.inbox.next('session/cancel');
    const count = world.editor.lines.length;

    session.agent.say('s', 'one moment');
    session.agent.update('s', { sessionUpdate: 'tool_call_update', toolCallId: 'c', status: 'failed' });
    const response = await turn.end({ stopReason: 'cancelled' });

    const update = (body: object): object => ({
      jsonrpc: '2.0',
      method: 'session/update',
      params: { sessionId: session.id, update: body },
    });
    expect(world.editor.lines.slice(count).map((line) => JSON.parse(String(line)) as unknown)).toEqual([
      update(chunk('one moment')),
      update({ sessionUpdate: 'tool_call_update', toolCallId: 'c', status: 'failed' }),
      response,
    ]);
  });

  test.each([
    ['an unknown id', { sessionId: 'b35f7a3c-24ef-4f0e-9d3b-8dcd8ac9a0f1' }],
    ["the agent's own id", { sessionId: 's' }],
    ['no id', {}],
    ['an id that is no string', { sessionId: 7 }],
  ])('P8 for %s has no effect and no answer', async (_, params) => {
    const turn = await startTurn(world, session);

    world.send({ method: 'session/cancel', params });

    expect(await sentTo(world, session.agent)).toEqual([]);
    expect(await sentBy(world, session.agent)).toEqual([]);
    expect(await turn.end()).toMatchObject({ result: { stopReason: 'end_turn' } });
  });
});
