/** Sessions do not wait for each other. */
import { sentBy, sentTo } from '../support/dialogue';
import type { Json } from '../support/inbox';
import type { Puppet } from '../support/puppet';
import { chunk, startTurn, type OpenSession } from '../support/turn';
import { fullAgent, World } from '../support/world';

describe('the prompts of two sessions', () => {
  let world: World;
  beforeEach(async () => (world = await World.initialized()));
  afterEach(() => world.end());

  test.each([
    ['one agent', 'own'],
    ['two agents', 'other'],
  ])('P12 run at the same time in %s', async (_, workspace) => {
    const first = await world.session(world.workspace('own'), 'first');
    const agent = workspace === 'own' ? first.agent : undefined;
    const second = await world.session(world.workspace(workspace), 'second', agent);

    const turns = [await startTurn(world, first), await startTurn(world, second)];
    const heard = [];
    for (const session of [first, second, first]) {
      session.agent.say(session.agentId, 'at work');
      heard.push(...(await sentBy(world, session.agent)));
    }
    const responses = [await turns[1]!.end(), await turns[0]!.end()];

    expect(heard.map(({ params }) => params)).toEqual(
      [first, second, first].map(({ id }) => ({ sessionId: id, update: chunk('at work') })),
    );
    expect(responses.map(({ id }) => id)).toEqual([turns[1]!.id, turns[0]!.id]);
  });

  test('P12 a cancel of the one does not touch the other', async () => {
    const first = await world.session(world.workspace('own'), 'first');
    const second = await world.session(world.workspace('own'), 'second', first.agent);
    const turns = [await startTurn(world, first), await startTurn(world, second)];

    world.send({ method: 'session/cancel', params: { sessionId: second.id } });
    const received = await sentTo(world, first.agent);
    const cancelled = await turns[1]!.end({ stopReason: 'cancelled' });
    const ended = await turns[0]!.end();

    expect(received).toEqual([{ jsonrpc: '2.0', method: 'session/cancel', params: { sessionId: 'second' } }]);
    expect([cancelled.result, ended.result]).toEqual([
      { stopReason: 'cancelled' },
      { stopReason: 'end_turn' },
    ]);
  });
});

describe('a workspace whose agent does not answer initialize', () => {
  let world: World;
  let quick: OpenSession;
  beforeEach(async () => {
    world = await World.initialized({ agentHello: ({ cwd }) => (cwd.endsWith('/slow') ? false : fullAgent) });
    quick = await world.session(world.workspace('quick'), 'q');
  });
  afterEach(() => world.end());

  /** Asks for a session in the slow workspace; its agent has nothing but `initialize` yet. */
  async function askSlow(): Promise<{ id: number; slow: Puppet }> {
    const id = world.ask('session/new', { cwd: world.workspace('slow'), mcpServers: [] });
    return { id, slow: await world.agent(world.workspace('slow')) };
  }

  test('P3 delays nobody else', async () => {
    const { id, slow } = await askSlow();

    const turn = await startTurn(world, quick);
    quick.agent.say('q', 'at work');
    const heard = await sentBy(world, quick.agent);
    await turn.end();
    const another = await world.session(world.workspace('another'), 'a');
    await (await startTurn(world, another)).end();
    const known = slow.inbox.lines.length;
    void slow.greet(fullAgent);
    await slow.answer('session/new', { result: { sessionId: 's' } });

    expect(known).toBe(1);
    expect(heard.map(({ params }) => params)).toEqual([{ sessionId: quick.id, update: chunk('at work') }]);
    expect(await world.editor.response(id)).toHaveProperty('result.sessionId');
  });

  test('P3 gets the requests that were sent to it meanwhile in that order, once it answers', async () => {
    const cwd = world.workspace('slow');
    const { id, slow } = await askSlow();
    const opening = (sessionId: string): Json => ({ sessionId, cwd, mcpServers: [] });

    const sent = [id];
    for (const n of [1, 2, 3, 4]) {
      sent.push(world.ask('session/new', { cwd, mcpServers: [] }));
      sent.push(world.ask('session/load', opening(`old ${n}`)));
    }
    expect((await receivedOnceGreeted(slow, sent.length)).map((message) => message.id)).toEqual(sent);
  });

  test('P3 gets what was sent for a session meanwhile in that order, once it answers', async () => {
    const cwd = world.workspace('slow');
    const { slow } = await askSlow();
    const session = { sessionId: 'old' };

    world.ask('session/load', { ...session, cwd, mcpServers: [] });
    world.ask('session/prompt', { ...session, prompt: [] });
    world.send({ method: 'session/cancel', params: session });
    world.send({ method: '_note', params: session });
    world.ask('session/set_mode', { ...session, modeId: 'm' });
    world.ask('session/close', session);
    const received = await receivedOnceGreeted(slow, 7);

    expect(received.map(({ method }) => method).slice(1)).toEqual([
      ...['session/load', 'session/prompt', 'session/cancel', '_note', 'session/set_mode', 'session/close'],
    ]);
  });

  /** The first `count` messages of an agent behind its `initialize`, which is answered now. */
  async function receivedOnceGreeted(agent: Puppet, count: number): Promise<Json[]> {
    // When the folder of another session has been looked up and its agent started, all the others wait.
    await world.session(world.workspace('another'), 'a');
    await agent.greet(fullAgent);
    const received = [];
    while (received.length < count) received.push(await agent.inbox.next(() => true));
    return received;
  }
});
