/** Statements A: signing out, and what agents say of being signed in. */
import { endAgent, exchange, sentBy, sentTo } from '../support/dialogue';
import type { Json } from '../support/inbox';
import { failure, itsId, success } from '../support/messages';
import type { Puppet } from '../support/puppet';
import { fullAgent, World } from '../support/world';

describe('signing out', () => {
  let world: World;
  let first: Puppet;

  beforeEach(async () => {
    world = await World.initialized();
    first = await world.agent();
    await exchange(world, first, 'authenticate', { methodId: 'key' });
  });
  afterEach(() => world.end());

  /** The first thing that an agent is sent which is started now, besides `initialize`. */
  async function firstRequestOfNewAgent(): Promise<unknown> {
    const cwd = world.workspace('late');
    world.ask('session/new', { cwd, mcpServers: [] });
    const agent = await world.agent(cwd);
    return (await agent.inbox.next(({ method }) => method !== 'initialize')).method;
  }

  test.each(['logout', 'authentication/logout'])('A9 after %s nothing is repeated', async (method) => {
    const { request, response } = await exchange(
      world,
      first,
      method,
      { _meta: { n: 1 } },
      { result: { z: 1 } },
    );

    expect(request.params).toEqual({ _meta: { n: 1 } });
    expect(response.result).toEqual({ z: 1 });
    expect(await firstRequestOfNewAgent()).toBe('session/new');
  });

  test('A9 all agents are told, and an agent that starts meanwhile is not signed in', async () => {
    const { agent } = await world.session(world.workspace('a'), 's1', await signedIn('a'));

    const id = world.ask('logout', {});
    const requests = [await first.inbox.next('logout'), await agent.inbox.next('logout')];
    first.send({ id: requests[0]!.id, result: {} });
    const next = await firstRequestOfNewAgent();
    agent.send({ id: requests[1]!.id, result: {} });

    expect(await world.editor.response(id)).toEqual(success(id, {}));
    expect(next).toBe('session/new');
  });

  test('A9 a refused logout leaves the agents that start later signed in', async () => {
    const error = { code: -32603, message: 'not now' };
    expect((await exchange(world, first, 'logout', {}, { error })).response.error).toEqual(error);
    expect(await firstRequestOfNewAgent()).toBe('authenticate');
  });

  /** Starts the agent of a workspace and answers the sign-in that is repeated to it. */
  async function signedIn(name: string): Promise<Puppet> {
    const cwd = world.workspace(name);
    world.send({ method: '_wake', params: { cwd } });
    const agent = await world.agent(cwd);
    await agent.answer('authenticate');
    return agent;
  }
});

describe('without the capability', () => {
  let world: World;
  beforeAll(async () => void (world = await World.initialized({ agentHello: { protocolVersion: 1 } })));
  afterAll(() => world.end());

  test.each(['logout', 'auth/status', 'providers/list', 'providers/set', 'providers/disable'])(
    'A9 %s is refused',
    async (method) => {
      expect(await world.request(method, {})).toEqual(failure(itsId, -32601, { method }));
      expect(await sentTo(world, world.agents[0]!)).toEqual([]);
    },
  );
});

describe('with the capability in some agents', () => {
  let world: World;
  afterEach(() => world.end());

  test('A9 only the agents that offer it are told to log out', async () => {
    const agentHello = ({ cwd }: Puppet): Json => (cwd.endsWith('/own') ? { protocolVersion: 1 } : fullAgent);
    world = await World.initialized({ agentHello });
    const first = await world.agent();
    const { agent } = await world.session(world.workspace('a'), 's1');

    const { response } = await exchange(world, agent, 'logout', {}, { result: { z: 1 } });

    expect(response.result).toEqual({ z: 1 });
    expect(await sentTo(world, first)).toEqual([]);
  });
});

describe('the state of being signed in', () => {
  let world: World;
  let first: Puppet;
  let second: Puppet;

  beforeEach(async () => {
    world = await World.initialized();
    first = await world.agent();
    second = (await world.session(world.workspace('a'), 's1')).agent;
  });
  afterEach(() => world.end());

  test('A10 auth/status is asked of the first agent alone', async () => {
    const result = { kind: 'none' };
    const { request, response } = await exchange(world, first, 'auth/status', { z: 1 }, { result });

    expect(request.params).toEqual({ z: 1 });
    expect(response.result).toEqual(result);
    expect(await sentTo(world, second)).toEqual([]);
  });

  test('A10 auth/status that no agent can answer is no demand to sign in', async () => {
    await world.end();
    world = await World.initialized({
      args: ['missing'],
      config: '[agents.missing]\ncommand = ["/no/such/agent"]',
    });

    expect(await world.request('auth/status', {})).toEqual(failure(2, -32603));
  });

  test('A10 the editor is told of changes only, and by the first agent only', async () => {
    const said = (n: number): Json => ({ method: 'auth/status_update', params: { status: { n } } });

    for (const n of [1, 1, 2, 2, 1]) first.send(said(n));
    second.send(said(3));

    const updates = [...(await sentBy(world, second)), ...(await sentBy(world, first))];
    expect(updates).toEqual([1, 2, 1].map((n) => ({ jsonrpc: '2.0', ...said(n) })));
  });

  test('A10 an agent that says it in two ways is heard once in each', async () => {
    const methods = ['auth/status_update', '_auth/status_update'];

    for (let i = 0; i < 2; i++) for (const method of methods) first.send({ method, params: { n: 1 } });

    expect((await sentBy(world, first)).map(({ method }) => method)).toEqual(methods);
  });

  test('A10 when the first agent is gone the next one is heard', async () => {
    await endAgent(world, first);
    const update = { method: 'auth/status_update', params: { status: 1 } };

    second.send(update);

    expect(await sentBy(world, second)).toEqual([{ jsonrpc: '2.0', ...update }]);
  });
});
