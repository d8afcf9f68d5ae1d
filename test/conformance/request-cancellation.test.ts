/** Statements X: `$/cancel_request`, both ways. */
import { exchange, expectNothingLeft, sentBy, sentTo, startCall } from '../support/dialogue';
import type { Json } from '../support/inbox';
import { failure, success } from '../support/messages';
import type { Puppet } from '../support/puppet';
import type { OpenSession } from '../support/turn';
import { fullAgent, World } from '../support/world';

const isCancel = '$/cancel_request';

/** The error with which an agent answers a request that was cancelled. */
const cancelled = { code: -32800, message: 'Request cancelled', data: { by: 'agent' } };

describe('cancelling a request at an agent', () => {
  let world: World;
  let a: OpenSession;
  let b: OpenSession;
  beforeAll(async () => {
    world = await World.initialized();
    a = await world.session(world.workspace('a'), 's1');
    b = await world.session(world.workspace('b'), 's1');
  });
  afterAll(() => world.end());
  afterEach(() => expectNothingLeft(world, a.agent, b.agent));

  /** The editor asks an agent something; resolves when the agent has it. */
  async function askedBy(session: OpenSession, id: unknown): Promise<Json> {
    world.send({ id, method: '_ask', params: { sessionId: session.id } });
    return await session.agent.inbox.next('_ask');
  }

  /** An agent asks the editor something; resolves with what the editor gets. */
  async function asks(session: OpenSession, id: unknown): Promise<Json> {
    session.agent.send({ id, method: '_ask', params: { sessionId: session.agentId } });
    return await world.editor.next('_ask');
  }

  test('X1 a cancel of the editor goes to the agent that has the request, and to no other', async () => {
    await askedBy(a, 'one');
    await askedBy(b, 'two');
    world.send({ method: isCancel, params: { requestId: 'two', _meta: { why: null } } });

    const expected = { jsonrpc: '2.0', method: isCancel, params: { requestId: 'two', _meta: { why: null } } };
    expect(await b.agent.inbox.next(() => true)).toEqual(expected);
    b.agent.send({ id: 'two', error: cancelled });
    expect(await world.editor.response('two')).toEqual({ jsonrpc: '2.0', id: 'two', error: cancelled });
    a.agent.send({ id: 'one', result: 1 });
    expect(await world.editor.response('one')).toEqual(success('one', 1));
  });

  test('X1 a number and the same number as a string are two requests', async () => {
    await askedBy(a, 7);
    await askedBy(b, '7');
    world.send({ method: isCancel, params: { requestId: '7' } });

    expect((await b.agent.inbox.next(() => true)).params).toEqual({ requestId: '7' });
    a.agent.send({ id: 7, result: {} });
    b.agent.send({ id: '7', result: {} });
    for (const id of [7, '7']) expect(await world.editor.response(id)).toEqual(success(id, {}));
  });

  test('X1 a request of an agent that has the same number for the editor is untouched', async () => {
    const { id } = await asks(b, 0);
    await askedBy(a, id);
    world.send({ method: isCancel, params: { requestId: id } });

    expect((await a.agent.inbox.next(() => true)).params).toEqual({ requestId: id });
    a.agent.send({ id, result: {} });
    expect(await world.editor.response(id)).toEqual(success(id, {}));
    world.send({ id, result: 'not cancelled' });
    expect(await b.agent.inbox.next(() => true)).toEqual(success(0, 'not cancelled'));
  });

  test('X1 a request whose id is null can be cancelled', async () => {
    const { id } = await askedBy(a, null);
    world.send({ method: isCancel, params: { requestId: null } });

    expect((await a.agent.inbox.next(() => true)).params).toEqual({ requestId: id });
    a.agent.send({ id, error: cancelled });
    expect(await world.editor.response(null)).toEqual({ jsonrpc: '2.0', id: null, error: cancelled });
  });

  test('X1 a cancel of what went to all agents goes to all, under the id that each knows', async () => {
    world.send({ id: 'all', method: 'authenticate', params: { methodId: 'key' } });
    const agents = world.agents;
    const requests = await Promise.all(agents.map(({ inbox }) => inbox.next('authenticate')));
    world.send({ method: isCancel, params: { requestId: 'all' } });

    for (const [index, agent] of agents.entries()) {
      const requestId = requests[index]!.id;
      expect((await agent.inbox.next(isCancel)).params).toEqual({ requestId });
      agent.send({ id: requestId, error: cancelled });
    }
    expect(await world.editor.response('all')).toEqual({ jsonrpc: '2.0', id: 'all', error: cancelled });
  });

  test('X2 a cancel of an agent has the id that the editor knows, and keeps its _meta', async () => {
    const [ofA, ofB] = [await asks(a, 0), await asks(b, 0)];
    const params = { _meta: { n: 1 }, requestId: 0, more: null };
    b.agent.send({ method: isCancel, params });

    const expected = { jsonrpc: '2.0', method: isCancel, params: { ...params, requestId: ofB.id } };
    expect(await world.editor.next(() => true)).toEqual(expected);
    world.send({ id: ofB.id, error: cancelled });
    world.send({ id: ofA.id, result: {} });
    expect(await b.agent.inbox.next(() => true)).toEqual({ jsonrpc: '2.0', id: 0, error: cancelled });
    expect(await a.agent.inbox.next(() => true)).toEqual(success(0, {}));
  });

  test('X3 ids that nobody has open are ignored, from either side', async () => {
    await exchange(world, a.agent, '_ask', { sessionId: a.id });
    const { id } = await asks(a, 'answered');
    world.send({ id, result: {} });
    await a.agent.inbox.response('answered');

    for (const requestId of [id, 'never', null, {}, undefined])
      world.send({ method: isCancel, params: { requestId } });
    for (const requestId of ['answered', id, null, []])
      a.agent.send({ method: isCancel, params: { requestId } });
    // An agent cannot cancel what another one asks.
    const ofB = await asks(b, 'of b');
    a.agent.send({ method: isCancel, params: { requestId: 'of b' } });

    expect(await sentTo(world, a.agent, b.agent)).toEqual([]);
    expect(await sentBy(world, a.agent)).toEqual([]);
    world.send({ id: ofB.id, result: {} });
    expect(await b.agent.inbox.next(() => true)).toEqual(success('of b', {}));
  });

  test('X4 a request that was cancelled twice gets its result, once', async () => {
    await askedBy(a, 'late');
    for (let i = 0; i < 2; i++) world.send({ method: isCancel, params: { requestId: 'late' } });
    for (let i = 0; i < 2; i++) await a.agent.inbox.next(isCancel);
    for (const result of [1, 2]) a.agent.send({ id: 'late', result });

    expect(await sentBy(world, a.agent)).toEqual([success('late', 1)]);
  });

  test('X4 a cancelled request whose agent dies gets one error', async () => {
    const { id, agent } = await world.session(world.workspace('c'), 's1');
    world.send({ id: 'dies', method: '_ask', params: { sessionId: id } });
    world.send({ method: isCancel, params: { requestId: 'dies' } });
    await agent.inbox.next(isCancel);
    agent.order({ exit: 1 });

    expect(await world.editor.response('dies')).toMatchObject(failure('dies', -32603));
  });

  test('X6 session/cancel, the agent takes back its permission request, the editor confirms, the turn ends', async () => {
    world.send({ id: 'turn', method: 'session/prompt', params: { sessionId: a.id, prompt: [] } });
    await a.agent.inbox.next('session/prompt');
    const params = { toolCall: { toolCallId: 't' }, options: [] };
    a.agent.send({ id: 5, method: 'session/request_permission', params: { sessionId: 's1', ...params } });
    const permission = await world.editor.next('session/request_permission');

    world.send({ method: 'session/cancel', params: { sessionId: a.id } });
    expect((await a.agent.inbox.next(() => true)).method).toBe('session/cancel');
    a.agent.send({ method: isCancel, params: { requestId: 5 } });
    expect((await world.editor.next(() => true)).params).toEqual({ requestId: permission.id });
    world.send({ id: permission.id, result: { outcome: { outcome: 'cancelled' } } });
    expect(await a.agent.inbox.next(() => true)).toEqual(success(5, { outcome: { outcome: 'cancelled' } }));
    a.agent.say('s1', 'stopped');
    a.agent.send({ id: 'turn', result: { stopReason: 'cancelled' } });

    expect((await world.editor.next(() => true)).method).toBe('session/update');
    expect(await world.editor.next(() => true)).toEqual(success('turn', { stopReason: 'cancelled' }));
  });
});

describe('cancelling a request that waits for its agent to start', () => {
  let world: World;
  let own: Puppet;
  beforeAll(async () => {
    world = await World.start({ agentHello: false });
    const hello = world.ask('initialize', { protocolVersion: 1 });
    own = await world.agent();
    await own.greet(fullAgent);
    await world.editor.response(hello);
  });
  afterAll(() => world.end());

  /** Starts an agent that has not answered `initialize`. */
  async function starting(name: string): Promise<{ cwd: string; agent: Puppet; opening: number }> {
    const cwd = world.workspace(name);
    const opening = world.ask('session/new', { cwd, mcpServers: [] });
    return { cwd, opening, agent: await world.agent(cwd) };
  }

  /** The agent answers `initialize` and opens the session that waits for it. */
  async function start({ agent, opening }: { agent: Puppet; opening: number }): Promise<void> {
    await agent.greet(fullAgent);
    await agent.answer('session/new', { result: { sessionId: 's1' } });
    await world.editor.response(opening);
  }

  test.each([
    ['session/new', (cwd: string) => ({ cwd, mcpServers: [] }), { sessionId: 's2' }],
    ['session/load', (cwd: string) => ({ cwd, mcpServers: [], sessionId: 's0' }), null],
    ['session/list', (cwd: string) => ({ cwd }), { sessions: [] }],
    ['_codex/hooks/list', (cwd: string) => ({ cwd }), {}],
  ])('X5 %s is answered -32800, and never reaches the agent', async (method, paramsFor, result) => {
    const place = await starting(method.replaceAll('/', '-'));
    const params = paramsFor(place.cwd);
    const id = world.ask(method, params);
    world.send({ method: isCancel, params: { requestId: id } });

    expect(await world.editor.next(() => true)).toEqual(failure(id, -32800));
    await start(place);
    // Its folder was looked up before that of this one.
    const { response } = await exchange(world, place.agent, method, params, { result });
    expect(response).toHaveProperty('result');
    expect(await sentTo(world, own, place.agent)).toEqual([]);
    expect(await sentBy(world, place.agent)).toEqual([]);
  });

  test('X5 what goes to all agents does not reach one that starts later than the cancel comes', async () => {
    const place = await starting('late');
    const call = await startCall(world, own, 'authenticate', { methodId: 'key' });
    world.send({ method: isCancel, params: { requestId: call.id } });
    await own.inbox.next(isCancel);
    own.send({ id: call.received.id, error: cancelled });
    await start(place);

    const agents = world.agents.filter((agent) => agent !== own && agent !== place.agent);
    for (const agent of agents) {
      const { id: open } = await agent.inbox.next('authenticate');
      await agent.inbox.next(isCancel);
      agent.send({ id: open, result: {} });
    }
    expect(await world.editor.next(() => true)).toEqual({ jsonrpc: '2.0', id: call.id, error: cancelled });
    expect(await sentTo(world, place.agent)).toEqual([]);
  });
});
