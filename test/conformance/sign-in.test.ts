/** Statements A: signing in, at all agents and at those that start later. */
import { endAgent, exchange, sentTo } from '../support/dialogue';
import { hastened } from '../support/hastened';
import type { Json } from '../support/inbox';
import { success } from '../support/messages';
import type { Puppet } from '../support/puppet';
import { fullAgent, World } from '../support/world';

const gateway =
  '{"methodId":"key","_meta":{"gateway":{"headers":{"x":"s3cret"}},"n":1.0,"b":18446744073709551615,"é":"€"}}';

describe('signing in', () => {
  let world: World;
  let first: Puppet;

  beforeEach(async () => {
    const agentHello = ({ cwd }: Puppet): Json | false => (cwd.endsWith('/slow') ? false : fullAgent);
    world = await World.initialized({ agentHello, env: { CAI_LOG_LEVEL: 'debug' } });
    first = await world.agent();
  });
  afterEach(() => world.end());

  /** Lets the first agent take a request that is to be repeated to later ones. */
  async function signIn(method: string, params: Json): Promise<void> {
    await exchange(world, first, method, params);
  }

  /** Asks for a session in a workspace whose agent is not running; the agent. */
  async function startAgent(name: string): Promise<{ agent: Puppet; opening: number }> {
    const cwd = world.workspace(name);
    const opening = world.ask('session/new', { cwd, mcpServers: [] });
    return { agent: await world.agent(cwd), opening };
  }

  test('A1 the params reach the agent as they are, and its answer the editor', async () => {
    world.send(`{"jsonrpc":"2.0","id":"in","method":"authenticate","params":${gateway}}\n`);
    const received = await first.inbox.next('authenticate');
    first.send(`{"jsonrpc":"2.0","id":${JSON.stringify(received.id)},"result":{ "_meta":{"n":1.0}}}\n`);
    await world.editor.response('in');

    expect(first.inbox.lines.at(-1)!.toString()).toContain(`"method":"authenticate","params":${gateway}}`);
    expect(world.editor.lines.at(-1)!.toString()).toBe(
      '{"jsonrpc":"2.0","id":"in","result":{ "_meta":{"n":1.0}}}',
    );
    expect(await world.lastWords()).not.toContain('s3cret');
  });

  test('A1 without an agent one is started to sign in at', async () => {
    await endAgent(world, first);

    const id = world.ask('authenticate', { methodId: 'key' });
    const next = await world.agent();
    await next.answer('authenticate', { result: null });

    expect(await world.editor.response(id)).toEqual(success(id, null));
  });

  test('A1 all agents are signed in at, with one answer', async () => {
    const second = await world.session(world.workspace('a'), 's1');
    const id = world.ask('authenticate', { methodId: 'key' });

    const requests = [await first.inbox.next('authenticate'), await second.agent.inbox.next('authenticate')];
    second.agent.send({ id: requests[1]!.id, result: { from: 2 } });
    expect(await sentTo(world, first)).toEqual([]);
    first.send({ id: requests[0]!.id, result: { from: 1 } });

    expect(requests.map(({ params }) => params)).toEqual([{ methodId: 'key' }, { methodId: 'key' }]);
    expect(await world.editor.response(id)).toEqual(success(id, { from: 1 }));
    await world.session(world.workspace('a'), 's2', second.agent);
    expect(world.editor.takeAll()).toEqual([]);
  });

  test('A1 one agent that refuses makes the answer', async () => {
    const second = await world.session(world.workspace('a'), 's1');
    const error = { code: -32000, message: 'no', data: { why: null } };

    const id = world.ask('authenticate', { methodId: 'key' });
    await first.answer('authenticate');
    await second.agent.answer('authenticate', { error });

    expect(await world.editor.response(id)).toEqual({ jsonrpc: '2.0', id, error });
  });

  test('A2 an agent that starts later is signed in before its first session', async () => {
    await signIn('authenticate', { methodId: 'key', _meta: { n: 1 } });
    const { agent, opening } = await startAgent('a');

    const repeated = await agent.inbox.next('authenticate');
    expect(repeated.params).toEqual({ methodId: 'key', _meta: { n: 1 } });
    await world.session(world.workspace('own'), 's1', first);
    expect(agent.inbox.takeAll()).toEqual([]);
    agent.send({ id: repeated.id, result: {} });
    await agent.answer('session/new', { result: { sessionId: 's1' } });

    expect(await world.editor.response(opening)).toMatchObject({ id: opening, result: {} });
    expect(world.editor.takeAll()).toEqual([]);
  });

  test('A2 all that was set is repeated in its order, the last of its kind once', async () => {
    await signIn('authenticate', { methodId: 'key' });
    await signIn('providers/set', { providerId: 'p', baseUrl: 'http://127.0.0.1:1' });
    await signIn('providers/disable', { providerId: 'q' });
    await signIn('authenticate', { methodId: 'key' });
    const { agent } = await startAgent('a');

    const methods: unknown[] = [];
    for (;;) {
      const { id, method } = await agent.inbox.next((message) => message.method !== 'initialize');
      methods.push(method);
      if (method === 'session/new') break;
      agent.send({ id, result: {} });
    }

    expect(methods).toEqual(['providers/set', 'providers/disable', 'authenticate', 'session/new']);
  });

  test('A2 what the agent refused is not repeated', async () => {
    const error = { code: -32000, message: 'wrong key' };
    await exchange(world, first, 'authenticate', { methodId: 'key' }, { error });

    const { agent } = await startAgent('a');

    expect((await agent.inbox.next((message) => message.method !== 'initialize')).method).toBe('session/new');
  });

  test('A2 only what has succeeded is repeated, also to an agent that has started meanwhile', async () => {
    const id = world.ask('authenticate', { methodId: 'key' });
    const signIn = await first.inbox.next('authenticate');
    const { agent, opening } = await startAgent('a');
    await agent.answer('session/new', { result: { sessionId: 's1' } });
    expect(await world.editor.response(opening)).toMatchObject({ result: {} });
    expect(agent.inbox.takeAll()).toEqual([]);

    first.send({ id: signIn.id, result: {} });
    await world.editor.response(id);

    expect((await agent.answer('authenticate')).params).toEqual({ methodId: 'key' });
    const later = await startAgent('b');
    expect((await later.agent.answer('authenticate')).params).toEqual({ methodId: 'key' });
    expect(world.editor.takeAll()).toEqual([]);
  });

  test('A2 a repeated sign-in that fails does not keep the agent from its sessions', async () => {
    await signIn('authenticate', { methodId: 'key' });
    const { agent } = await startAgent('a');

    await agent.answer('authenticate', { error: { code: -32000, message: 'expired' } });

    expect(await agent.inbox.next('session/new')).toBeDefined();
  });

  test('A2 an agent that is starting when the editor signs in is signed in once', async () => {
    const { agent, opening } = await startAgent('slow');
    const id = world.ask('authenticate', { methodId: 'key' });
    await first.answer('authenticate');

    await agent.greet(fullAgent);
    await agent.answer('session/new', { result: { sessionId: 's1' } });
    expect((await agent.answer('authenticate')).params).toEqual({ methodId: 'key' });
    expect(await world.editor.response(opening)).toMatchObject({ result: {} });
    expect(await world.editor.response(id)).toEqual(success(id, {}));
    expect(await sentTo(world, agent)).toEqual([]);
  });

  test('A3 a demand to sign in reaches the editor as it is', async () => {
    const answer = '"error":{"code":-32000,"message":"Sign in","data":{"authMethods":[],"n":1.0}}}';
    const { agent, opening } = await startAgent('a');

    const { id } = await agent.inbox.next('session/new');
    agent.send(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},${answer}\n`);
    await world.editor.response(opening);

    expect(world.editor.lines.at(-1)!.toString()).toBe(`{"jsonrpc":"2.0","id":${opening},${answer}`);
  });
});

test('A2 a repeated sign-in that is not answered fails the start by its name, once', async () => {
  const world = await World.initialized({ env: { ...hastened, CAI_HASTEN_BY: '20' } });
  try {
    const first = await world.agent();
    await exchange(world, first, 'authenticate', { methodId: 'key' });
    const cwd = world.workspace('a');
    const opening = world.ask('session/new', { cwd, mcpServers: [] });
    const agent = await world.agent(cwd);
    await agent.inbox.next('authenticate');

    expect(await world.editor.response(opening)).toHaveProperty(
      'error.message',
      expect.stringMatching(/^agent "puppet" did not answer authenticate, .+ in 30 s: sign in again$/),
    );
    expect((await world.session(cwd, 's1')).agent).not.toBe(agent);
  } finally {
    await world.end();
  }
});
