/** Statements U: sessions that an agent opens by itself, below another one. */
import { sentBy, sentTo } from '../support/dialogue';
import type { Json } from '../support/inbox';
import { askEditor, chunk, permissionParams, startTurn, type OpenSession } from '../support/turn';
import { World } from '../support/world';

describe('a subagent', () => {
  let world: World;
  let parent: OpenSession;
  beforeEach(async () => {
    world = await World.initialized();
    parent = await world.session(world.workspace('own'), 'parent');
  });
  afterEach(() => world.end());

  const announcement = (sessionId: string, more: Json = {}): Json => ({
    sessionUpdate: 'subagent_update',
    sessionId,
    title: 'Reviewer',
    capabilities: { cancel: {}, _novel: 1 },
    ...more,
  });

  /** Lets the agent announce a subagent; resolves with the session as the editor and the agent know it. */
  async function announced(agentId = 'child', below = parent): Promise<OpenSession> {
    below.agent.update(below.agentId, announcement(agentId));
    const { params } = await world.editor.next('session/update');
    const { update } = params as { update: { sessionId: string } };
    return { id: update.sessionId, agentId, agent: below.agent };
  }

  /** What the editor got of the agent's updates. */
  async function updates(): Promise<unknown[]> {
    return (await sentBy(world, parent.agent)).map(({ params }) => params);
  }

  test('U9 the id of a subagent is mapped, and the rest of its announcement kept', async () => {
    const state = { state: 'idle', stopReason: 'error', error: { code: -32002, message: 'gone' } };
    const withData = (sessionId: string): Json => ({
      state: { ...state, error: { ...state.error, data: { sessionId, more: null } } },
    });

    parent.agent.update('parent', announcement('child'));
    parent.agent.update('parent', announcement('child', withData('child')));
    const [first, second] = (await updates()) as { sessionId: string; update: { sessionId: string } }[];

    const { sessionId } = first!.update;
    expect([parent.id, 'child']).not.toContain(sessionId);
    expect(first).toEqual({ sessionId: parent.id, update: announcement(sessionId) });
    expect(second).toEqual({
      sessionId: parent.id,
      update: announcement(sessionId, withData(sessionId)),
    });
  });

  test('U9 two agents whose subagents have the same id have different ones for the editor', async () => {
    const other = await world.session(world.workspace('other'), 'parent');

    const ids = [(await announced()).id, (await announced('child', other)).id];

    expect(new Set([...ids, parent.id, other.id]).size).toBe(4);
  });

  test('U9 sender and recipient of a message between sessions are mapped', async () => {
    const child = await announced();
    const message = (senderSessionId: unknown, recipientSessionId: unknown): Json => ({
      sessionUpdate: 'session_message',
      messageId: 'm',
      senderSessionId,
      recipientSessionId,
      senderMessageId: 'parent',
      content: [{ type: 'text', text: 'child' }],
    });

    parent.agent.update('parent', message('parent', 'child'));
    parent.agent.update('child', message('parent', 'child'));
    parent.agent.update('child', message(null, null));

    expect(await updates()).toEqual([
      { sessionId: parent.id, update: message(parent.id, child.id) },
      { sessionId: child.id, update: message(parent.id, child.id) },
      { sessionId: child.id, update: message(null, null) },
    ]);
  });

  test('U9 a permission request of a subagent goes to the editor, and its answer back', async () => {
    const child = await announced();
    const request = { id: 0, method: 'session/request_permission' };

    const asked = await askEditor(world, parent.agent, { ...request, params: permissionParams('child') });
    const outcome = { outcome: { outcome: 'selected', optionId: 'no' } };
    world.send({ id: asked.id, result: outcome });

    expect(asked.params).toEqual(permissionParams(child.id));
    expect(await parent.agent.inbox.response(0)).toEqual({ jsonrpc: '2.0', id: 0, result: outcome });
  });

  test('U9 a subagent can be cancelled and prompted under its id', async () => {
    const child = await announced();

    world.send({ method: 'session/cancel', params: { sessionId: child.id } });
    const [cancel] = await sentTo(world, parent.agent);
    const turn = await startTurn(world, child);

    expect(cancel).toEqual({ jsonrpc: '2.0', method: 'session/cancel', params: { sessionId: 'child' } });
    expect(turn.received.params).toMatchObject({ sessionId: 'child' });
    expect(await turn.end()).toMatchObject({ result: { stopReason: 'end_turn' } });
  });

  test('U10 the announcement comes before all that bears the id of the subagent', async () => {
    parent.agent.update('parent', announcement('child'));
    parent.agent.say('child', 'I begin');
    parent.agent.update('child', announcement('grandchild'));
    parent.agent.say('grandchild', 'so do I');
    parent.agent.send({ method: '_novel', params: { sessionId: 'grandchild' } });

    const received = (await updates()) as { update: { sessionId: string } }[];

    const child = received[0]!.update.sessionId;
    const grandchild = received[2]!.update.sessionId;
    expect(received).toEqual([
      { sessionId: parent.id, update: announcement(child) },
      { sessionId: child, update: chunk('I begin') },
      { sessionId: child, update: announcement(grandchild) },
      { sessionId: grandchild, update: chunk('so do I') },
      { sessionId: grandchild },
    ]);
    expect(new Set([parent.id, child, grandchild, 'child', 'grandchild']).size).toBe(5);
  });
});
