/** Statement L1: an agent that ends or goes wrong is its own problem. */
import { endAgent, sentBy, sentTo } from '../support/dialogue';
import { hastened } from '../support/hastened';
import { failure, success } from '../support/messages';
import { isAlive, untilGone } from '../support/processes';
import { SharedWorlds } from '../support/shared-worlds';
import { openFresh, permissionParams, startTurn, type OpenSession } from '../support/turn';
import { World } from '../support/world';

describe('an agent that ends', () => {
  const worlds = new SharedWorlds();
  let world: World;
  let a: OpenSession;
  let b: OpenSession;
  beforeEach(async () => {
    world = await worlds.initialized();
    a = await openFresh(world);
    b = await openFresh(world);
  });

  test.each([
    [
      'exits',
      { err: 'first\nno more tokens\n', exit: 7 },
      'exited with status 7: no more tokens',
      'first\nno more tokens',
    ],
    ['is killed', { err: 'first\n', kill: 'SIGKILL' }, 'was killed by SIGKILL', 'first'],
  ])('L1 %s: each of its requests gets one error that says so', async (_, order, how, details) => {
    const ids = [await startTurn(world, a), await startTurn(world, a)].map((turn) => turn.id);
    a.agent.order(order);
    await world.editor.response(ids[1]);

    const [first, ...more] = world.editor.takeAll();
    expect(first).toEqual(failure(ids[0], -32603, { details }));
    expect(first).toHaveProperty('error.message', expect.stringContaining(how));
    expect(more).toEqual([]);
    // With its next prompt the session goes on in another agent: test/flow/recovery.test.ts.
    world.ask('session/prompt', { sessionId: a.id, prompt: [] });
    const next = await world.agent(a.agent.cwd);
    expect(await next.inbox.next('session/resume')).toMatchObject({ params: { sessionId: 's1' } });
  });

  test('L1 what it has asked is taken back, and late answers are nobody’s', async () => {
    a.agent.send({ id: 0, method: 'session/request_permission', params: permissionParams('s1') });
    const permission = await world.editor.next('session/request_permission');
    b.agent.send({ id: 0, method: 'session/request_permission', params: permissionParams('s1') });
    const other = await world.editor.next('session/request_permission');
    await endAgent(world, a.agent);

    const params = { requestId: permission.id };
    expect(await world.editor.next(() => true)).toEqual({
      jsonrpc: '2.0',
      method: '$/cancel_request',
      params,
    });
    world.send({ id: permission.id, result: 'late' });
    world.send({ id: other.id, result: 'in time' });
    expect(await sentTo(world, b.agent)).toEqual([success(0, 'in time')]);
    expect(await sentBy(world, b.agent)).toEqual([]);
  });

  test('L1 others go on, also in the middle of a turn', async () => {
    const turn = await startTurn(world, b);
    b.agent.say('s1', 'before');
    await endAgent(world, a.agent);
    b.agent.say('s1', 'after');

    expect(await turn.end()).toEqual(success(turn.id, { stopReason: 'end_turn' }));
    expect(world.editor.takeAll().map(({ method }) => method)).toEqual(['session/update', 'session/update']);
    expect(await sentTo(world, b.agent)).toEqual([]);
  });

  test('L1 its workspace gets a new agent, with which the session can be loaded', async () => {
    await endAgent(world, a.agent);
    const id = world.ask('session/load', { sessionId: a.id, cwd: a.agent.cwd, mcpServers: [] });
    const agent = await world.agent(a.agent.cwd);
    const request = await agent.answer('session/load', { result: null });

    expect(request.params).toEqual({ sessionId: 's1', cwd: a.agent.cwd, mcpServers: [] });
    expect(await world.editor.response(id)).toEqual(success(id, null));
    const turn = await startTurn(world, { ...a, agent });
    expect(await turn.end()).toHaveProperty('result');
  });

  test('L1 what it wrote before its end arrives before the error, all of it', async () => {
    const turn = await startTurn(world, a);
    for (let i = 0; i < 100; i++) a.agent.say('s1', 'x'.repeat(10_000));
    await a.agent.done();
    a.agent.order({ exit: 0 });
    const error = await world.editor.response(turn.id);

    expect(error).toEqual(failure(turn.id, -32603));
    expect(world.editor.lines.at(-1)!.toString()).toBe(JSON.stringify(error));
    expect(world.editor.takeAll()).toHaveLength(100);
  });

  test('T6 its last line counts, also without a line end', async () => {
    const turn = await startTurn(world, a);
    a.agent.send(`{"jsonrpc":"2.0","id":${turn.id},"result":{"stopReason":"end_turn"}}`);
    await a.agent.done();
    a.agent.order({ exit: 0 });

    expect(await world.editor.response(turn.id)).toEqual(success(turn.id, { stopReason: 'end_turn' }));
  });
});

describe('an agent that goes wrong', () => {
  let world: World;
  let session: OpenSession;
  afterEach(() => world.end());

  async function open(env: NodeJS.ProcessEnv = {}): Promise<void> {
    world = await World.initialized({ env: { ...hastened, ...env } });
    session = await world.session(world.workspace('own'), 's1');
  }

  test('L1 by closing its output is ended, and its requests fail', async () => {
    await open();
    const turn = await startTurn(world, session);
    session.agent.order({ closeOut: true });

    expect(await world.editor.response(turn.id)).toEqual(failure(turn.id, -32603));
    await session.agent.gone;
  });

  test('L1 by closing its output and not ending is killed', async () => {
    await open({ CAI_PUPPET_IGNORE: '1' });
    const turn = await startTurn(world, session);
    session.agent.order({ closeOut: true });

    const error = await world.editor.response(turn.id);
    expect(error).toHaveProperty('error.message', expect.stringContaining('SIGKILL'));
    expect(session.agent.signals).toEqual(['SIGTERM']);
    await session.agent.sawEof;
  });

  test('L1 by leaving a process that holds its output: its requests fail, and the process ends', async () => {
    await open();
    const turn = await startTurn(world, session);
    const pid = await session.agent.grandchild();
    session.agent.order({ exit: 0 });

    expect(await world.editor.response(turn.id)).toEqual(failure(turn.id, -32603));
    await untilGone(pid);
  });

  test('L1 by leaving such a process in a session of its own: its requests fail all the same', async () => {
    await open();
    const turn = await startTurn(world, session);
    const pid = await session.agent.grandchild('session');
    session.agent.order({ exit: 0 });

    expect(await world.editor.response(turn.id)).toEqual(failure(turn.id, -32603));
    expect(isAlive(pid)).toBe(true);
    process.kill(pid, 'SIGKILL');
  });

  test('L1 by writing garbage without end disturbs nobody else', async () => {
    await open();
    const other = await world.session(world.workspace('b'), 's1');
    const turn = await startTurn(world, other);
    for (let i = 0; i < 10; i++) session.agent.send(`${'garbage '.repeat(10)}\n`.repeat(100));

    expect(await turn.end()).toHaveProperty('result');
    expect(await sentBy(world, session.agent)).toEqual([]);
  });
});
