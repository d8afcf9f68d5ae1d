/** Statements S: session/close, session/delete, and session/end, which ACP does not have. */
import { exchange, sentBy, sentTo, startCall } from '../support/dialogue';
import { hastened } from '../support/hastened';
import type { Json } from '../support/inbox';
import { failure, success } from '../support/messages';
import type { Puppet } from '../support/puppet';
import { expectTurn, startTurn, openFresh, type OpenSession } from '../support/turn';
import { fullAgent, World } from '../support/world';

const cancelledTurn = { stopReason: 'cancelled' };
/** An agent that can close nothing. */
const plainAgent: Json = { protocolVersion: 1 };

let world: World;

describe('the end of a session', () => {
  let session: OpenSession;
  beforeAll(async () => {
    const agentHello = ({ cwd }: Puppet): Json => (cwd.includes('/plain') ? plainAgent : fullAgent);
    world = await World.initialized({ agentHello });
  });
  beforeEach(async () => void (session = await openFresh(world)));
  afterEach(() => void world.editor.takeAll());
  afterAll(() => world.end());

  /** The session is another one, of an agent that can close nothing. */
  async function becomePlain(name: string): Promise<void> {
    session = await world.session(world.workspace(`plain-${name}`), 's1');
  }

  /** The last messages that the editor got, in order, whoever has waited for them. */
  function last(count: number): unknown[] {
    return world.editor.lines.slice(-count).map((line) => JSON.parse(String(line)) as unknown);
  }

  /** Nothing more is sent for the session, in either direction. */
  async function expectOver(): Promise<void> {
    const { id, agentId, agent } = session;
    const prompt = world.ask('session/prompt', { sessionId: id, prompt: [] });
    world.send({ method: 'session/cancel', params: { sessionId: id } });
    expect(await world.editor.response(prompt)).toEqual(failure(prompt, -32002, { sessionId: id }));
    expect(await sentTo(world, agent)).toEqual([]);
    agent.say(agentId, 'late');
    agent.send({ id: 'late', method: 'session/request_permission', params: { sessionId: agentId } });
    expect(await agent.inbox.response('late')).toEqual(failure('late', -32002));
    expect(await sentBy(world, agent)).toEqual([]);
  }

  describe('session/close', () => {
    test('S15 of a running turn: its answer comes first, and nothing after', async () => {
      const { id, agentId, agent } = session;
      const turn = await startTurn(world, session);

      const closing = await startCall(world, agent, 'session/close', { sessionId: id, _meta: { n: 1 } });
      agent.say(agentId, 'last words');
      agent.send({ id: turn.received.id, result: cancelledTurn });
      await closing.end({ result: { z: 1 } });

      expect(closing.received.params).toEqual({ sessionId: 's1', _meta: { n: 1 } });
      world.editor.takeAll();
      expect(last(3)).toEqual([
        expect.objectContaining({ method: 'session/update' }),
        success(turn.id, cancelledTurn),
        success(closing.id, { z: 1 }),
      ]);
      await expectOver();
    });

    test('S8 S15 where the agent cannot, its turn is cancelled and awaited instead', async () => {
      await becomePlain('close');
      const { id, agentId, agent } = session;
      const turn = await startTurn(world, session);

      const closing = world.ask('session/close', { sessionId: id });
      const cancel = await agent.inbox.next('session/cancel');
      expect(await sentBy(world, agent)).toEqual([]);
      agent.say(agentId, 'last words');
      agent.send({ id: turn.received.id, result: cancelledTurn });
      await world.editor.response(closing);

      expect(cancel).toEqual({ jsonrpc: '2.0', method: 'session/cancel', params: { sessionId: 's1' } });
      world.editor.takeAll();
      expect(last(3)).toEqual([
        expect.objectContaining({ method: 'session/update' }),
        success(turn.id, cancelledTurn),
        success(closing, {}),
      ]);
      await expectOver();
    });

    test('S15 that the agent refuses leaves the session open', async () => {
      const { id, agent } = session;
      const error = { code: 7, message: 'busy' };

      const { response } = await exchange(world, agent, 'session/close', { sessionId: id }, { error });

      expect(response.error).toEqual(error);
      await expectTurn(world, session);
    });

    test('S15 leaves the agent’s other sessions open', async () => {
      const { id, agent } = session;
      const other = await world.session(agent.cwd, 's2', agent);

      await exchange(world, agent, 'session/close', { sessionId: id }, { result: null });

      await expectTurn(world, other);
    });

    test('S2 S15 of a session that is then loaded again', async () => {
      const { id, agent } = session;
      await exchange(world, agent, 'session/close', { sessionId: id });

      const params = { sessionId: id, cwd: agent.cwd, mcpServers: [] };
      const { request } = await exchange(world, agent, 'session/load', params, { result: null });

      expect(request.params).toEqual({ ...params, sessionId: 's1' });
      await expectTurn(world, session);
    });
  });

  describe('session/end', () => {
    test.each([
      ['an agent that can close sessions', 'session/close'],
      ['an agent that cannot', 'session/cancel'],
    ])('D4 of the last session of %s is answered, and ends the agent', async (_, method) => {
      if (method === 'session/cancel') await becomePlain('end');
      const { id, agent } = session;
      const turn = await startTurn(world, session);

      const ending = world.ask('session/end', { sessionId: id });
      const { id: closing, params } = await agent.inbox.next(method);
      agent.send({ id: turn.received.id, result: cancelledTurn });
      if (closing !== undefined) agent.send({ id: closing, result: {} });
      await world.editor.response(ending);
      await agent.sawEof;

      expect(params).toEqual({ sessionId: 's1' });
      expect(world.editor.lines.at(-1)!.toString()).toBe(`{"jsonrpc":"2.0","id":${ending},"result":{}}`);
      expect(world.editor.takeAll()).toEqual([success(turn.id, cancelledTurn)]);
      expect(agent.inbox.takeAll()).toEqual([]);
    });

    test('D4 as a notification is not answered, and ends the agent', async () => {
      const { agent } = session;

      world.send({ method: 'session/end', params: { sessionId: session.id } });
      await agent.answer('session/close');
      await agent.sawEof;

      expect(await sentBy(world, agent)).toEqual([]);
      expect(agent.inbox.takeAll()).toEqual([]);
    });

    test('D4 of one of two sessions leaves the agent and the other', async () => {
      const { id, agent } = session;
      const other = await world.session(agent.cwd, 's2', agent);

      const ending = world.ask('session/end', { sessionId: id });
      await agent.answer('session/close', { error: { code: 1, message: 'no' } });

      expect(await world.editor.response(ending)).toEqual(success(ending, {}));
      await expectOver();
      await expectTurn(world, other);
    });

    test('D4 is followed by a new agent where the workspace is used again', async () => {
      await becomePlain('used again');

      const ended = await world.request('session/end', { sessionId: session.id });
      const next = await world.session(session.agent.cwd, 's1');

      expect(ended.result).toEqual({});
      expect(next.agent.pid).not.toBe(session.agent.pid);
    });
  });

  describe('session/delete', () => {
    test('S14 of a session that is open or not reaches the agent, once', async () => {
      const { id, agent } = session;

      const params = { sessionId: id };
      const deleted = await exchange(world, agent, 'session/delete', params, { result: { z: 1 } });
      const again = world.ask('session/delete', params);

      expect(deleted.request.params).toEqual({ sessionId: 's1' });
      expect(deleted.response.result).toEqual({ z: 1 });
      expect(await world.editor.response(again)).toEqual(success(again, {}));
      await expectOver();
    });

    test('S14 of a session that was closed reaches the agent', async () => {
      const { id, agent } = session;
      await exchange(world, agent, 'session/close', { sessionId: id });

      const params = { sessionId: id };
      const { request } = await exchange(world, agent, 'session/delete', params);

      expect(request.params).toEqual({ sessionId: 's1' });
    });

    test('S14 of an unknown session is done, and reaches no agent', async () => {
      expect((await world.request('session/delete', { sessionId: 'unknown' })).result).toEqual({});
      expect(await sentTo(world, session.agent)).toEqual([]);
    });

    test('S14 that the agent refuses leaves the session open', async () => {
      const { id, agent } = session;
      const error = { code: 7, message: 'busy' };

      const { response } = await exchange(world, agent, 'session/delete', { sessionId: id }, { error });

      expect(response.error).toEqual(error);
      await expectTurn(world, session);
    });
  });
});

describe('the idle time', () => {
  afterEach(() => world.end());

  test('D4 an agent is ended when it has been without sessions for the idle time', async () => {
    world = await World.initialized({ config: '[acp]\nidle = "1s"', env: hastened });
    const unused = await world.agent();
    const session = await world.session(world.workspace('a'), 's1');
    const { id, agent } = session;

    await unused.sawEof;
    const turn = await startTurn(world, session);
    await turn.end();
    // Another one that loses its session only now is ended first.
    const other = await world.session(world.workspace('b'), 's1');
    await exchange(world, other.agent, 'session/close', { sessionId: other.id });
    await other.agent.sawEof;
    await (await startTurn(world, session)).end();
    await exchange(world, agent, 'session/close', { sessionId: id });
    await agent.sawEof;

    expect((await world.session(world.workspace('a'), 's1')).agent.pid).not.toBe(agent.pid);
  });
});

describe('an agent that does not end a session in 5 s', () => {
  let session: OpenSession;
  const hello = ({ cwd }: Puppet): Json => (cwd.endsWith('/plain') ? plainAgent : fullAgent);
  beforeEach(async () => {
    world = await World.initialized({ agentHello: hello, env: hastened });
  });
  afterEach(() => world.end());

  test.each([
    ['session/close', 'full'],
    ['session/close', 'plain'],
    ['session/end', 'full'],
    ['session/end', 'plain'],
  ])('%s, %s agent: is ended, what is open is answered, and the next session works', async (method, name) => {
    session = await world.session(world.workspace(name), 's1');
    const turn = await startTurn(world, session);

    const ended = await world.request(method, { sessionId: session.id });

    expect(ended.result).toEqual({});
    expect(await world.editor.response(turn.id)).toEqual(failure(turn.id, -32603));
    await session.agent.gone;
    const next = await world.session(session.agent.cwd, 's1');
    expect(next.agent.pid).not.toBe(session.agent.pid);
    await expectTurn(world, next);
  });

  test('goes on where another session of it is at work: that one is left alone, and the thread says so', async () => {
    session = await world.session(world.workspace('full'), 's1');
    const { id, agent } = session;
    const other = await world.session(agent.cwd, 's2', agent);
    const work = await startTurn(world, other);
    const turn = await startTurn(world, session);

    const ended = await world.request('session/end', { sessionId: id });

    expect(ended.result).toEqual({});
    expect(await world.editor.response(turn.id)).toEqual(failure(turn.id, -32603));
    const { params } = await world.editor.next('session/update');
    expect(params).toMatchObject({ sessionId: id, _meta: { containai: true } });
    expect((await work.end()).result).toBeDefined();
  });
});
