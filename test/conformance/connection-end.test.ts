/** Statements L2 to L4: the end of the connection, whoever brings it about. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { leave, startCall } from '../support/dialogue';
import { hastened } from '../support/hastened';
import type { Json } from '../support/inbox';
import { failure, success } from '../support/messages';
import { isAlive, untilGone, untilIdle } from '../support/processes';
import { permissionParams, startTurn } from '../support/turn';
import { World } from '../support/world';

const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** Of a proxy that waits for nothing longer than 3 s. */
const upTo3s = { ...hastened, CAI_HASTEN_UP_TO: '3000' };

let world: World;
afterEach(() => world.end());

describe('the end of stdin', () => {
  test('L2 answers what agents have asked, cancels the turns, ends the agents, and the status is 0', async () => {
    world = await World.initialized();
    const session = await world.session(world.workspace('own'), 's1');
    const idle = await world.session(world.workspace('b'), 's1');
    const turn = await startTurn(world, session);
    const { agent } = session;
    agent.send({ id: 1, method: 'session/request_permission', params: permissionParams('s1') });
    agent.send({ id: 2, method: 'elicitation/create', params: { sessionId: 's1', mode: 'form' } });
    agent.send({ id: 3, method: '_ask', params: {} });
    await world.editor.next('_ask');
    world.process.stdin.end();

    const cancel = { jsonrpc: '2.0', method: 'session/cancel', params: { sessionId: 's1' } };
    const told = [1, 2, 3, 4].map(() => agent.inbox.next(() => true));
    expect(await Promise.all(told)).toEqual([
      success(1, { outcome: { outcome: 'cancelled' } }),
      success(2, { action: 'cancel' }),
      failure(3, -32603),
      cancel,
    ]);
    agent.send({ id: turn.id, result: { stopReason: 'cancelled' } });
    expect(await world.editor.response(turn.id)).toEqual(success(turn.id, { stopReason: 'cancelled' }));
    await Promise.all([agent.sawEof, idle.agent.sawEof]);
    for (const each of [agent, idle.agent]) each.order({ exit: 0 });
    expect(await world.exited()).toBe(0);
    expect(idle.agent.inbox.takeAll()).toEqual([]);
  });

  test('L2 answers also what an agent asks after it', async () => {
    world = await World.initialized();
    const session = await world.session(world.workspace('own'), 's1');
    await startTurn(world, session);
    world.process.stdin.end();
    await session.agent.inbox.next('session/cancel');
    session.agent.send({ id: 1, method: 'session/request_permission', params: permissionParams('s1') });

    expect(await session.agent.inbox.next(() => true)).toEqual(
      success(1, { outcome: { outcome: 'cancelled' } }),
    );
  });

  test('L2 ends a proxy that has never been asked anything, and starts nothing', async () => {
    world = await World.start();

    expect(await world.close()).toBe(0);
    expect(world.agents).toEqual([]);
    expect(world.editor.lines).toEqual([]);
  });

  test('L2 ends agents that ignore it, and SIGTERM', async () => {
    world = await World.initialized({ env: { ...hastened, CAI_PUPPET_IGNORE: '1' } });
    const { agent } = await world.session(world.workspace('own'), 's1');
    const pid = await agent.grandchild();

    expect(await world.close()).toBe(0);
    expect(agent.signals).toEqual(['SIGTERM']);
    await untilGone(agent.pid, pid);
  });

  test('L2 ends what agents leave behind', async () => {
    world = await World.initialized();
    const { agent } = await world.session(world.workspace('own'), 's1');
    const pid = await agent.grandchild();

    expect(await leave(world)).toBe(0);
    expect(isAlive(pid)).toBe(false);
  });

  test('L2 does not wait for a turn that the agent does not end', async () => {
    world = await World.initialized({ env: hastened });
    const session = await world.session(world.workspace('own'), 's1');
    const turn = await startTurn(world, session);

    expect(await leave(world)).toBe(0);
    expect(await world.editor.response(turn.id)).toEqual(failure(turn.id, -32603));
  });

  test('L2 takes 3 s at most while initialize waits for an agent that hangs', async () => {
    world = await World.start({ agentHello: false, env: upTo3s });
    const id = world.ask('initialize', { protocolVersion: 1 });
    const agent = await world.agent();
    await agent.inbox.next('initialize');
    const next = world.ask('session/new', { cwd: world.workspace('own'), mcpServers: [] });
    expect(await leave(world)).toBe(0);
    expect(await world.editor.response(id)).toHaveProperty('result.protocolVersion', 1);
    // It waited behind initialize, and is answered all the same.
    expect(await world.editor.response(next)).toEqual(failure(next, -32603));
  });

  test.each([
    ['session/new', { cwd: 'CWD', mcpServers: [] }],
    ['session/load', { sessionId: 'unknown', cwd: 'CWD', mcpServers: [] }],
    ['authenticate', { methodId: 'key' }],
    ['session/prompt', { sessionId: 'SESSION', prompt: [] }],
  ])('L2 takes 3 s at most while an agent that hangs has %s open', async (method, params) => {
    world = await World.initialized({ env: { ...upTo3s, CAI_PUPPET_IGNORE: '1' } });
    const cwd = world.workspace('own');
    const { id: session, agent } = await world.session(cwd, 's1');
    const text = JSON.stringify(params).replace('CWD', cwd).replace('SESSION', session);
    const call = await startCall(world, agent, method, JSON.parse(text));
    expect(await leave(world)).toBe(0);
    expect(await world.editor.response(call.id)).toMatchObject(failure(call.id, -32603));
    await untilGone(agent.pid);
  });

  test('L3 what is due is still answered', async () => {
    world = await World.initialized();
    const { id, agent } = await world.session(world.workspace('own'), 's1');
    const opening = world.ask('session/new', { cwd: world.workspace('own'), mcpServers: [] });
    const asked = world.ask('_ask', { sessionId: id });
    world.process.stdin.end();
    const requests = [await agent.inbox.next('session/new'), await agent.inbox.next('_ask')];
    agent.say('s1', 'before the answer');
    agent.send({ id: requests[0]!.id, result: { sessionId: 's2' } });
    agent.send({ id: requests[1]!.id, result: 1 });

    expect(await world.editor.next('session/update')).toHaveProperty('params.sessionId', id);
    expect(await world.editor.response(opening)).toHaveProperty('result.sessionId');
    expect(await world.editor.response(asked)).toEqual(success(asked, 1));
  });

  test('L3 what is due is still written to an editor that is slow to read', async () => {
    world = await World.initialized();
    const { id: sessionId, agent } = await world.session(world.workspace('own'), 's1');
    const asked = world.ask('_ask', { sessionId });
    world.process.stdout.pause();
    world.process.stdin.end();
    await agent.inbox.next('_ask');
    for (let i = 0; i < 400; i++) agent.say('s1', 'x'.repeat(2_000));
    agent.send({ id: asked, result: {} });
    await agent.sawEof;
    agent.order({ exit: 0 });
    await agent.gone;
    await untilIdle(world.process.pid!);
    world.process.stdout.resume();

    expect(await world.exited()).toBe(0);
    expect(await world.editor.response(asked)).toEqual(success(asked, {}));
    expect(world.editor.takeAll()).toHaveLength(400);
  });

  test('L3 an editor that asks and goes gets all answers, in one go', async () => {
    world = await World.start({ agentHello: { protocolVersion: 1 } });
    const lines: Json[] = [
      { id: 1, method: 'initialize', params: { protocolVersion: 1 } },
      { id: 2, method: 'session/prompt', params: { sessionId: 'no' } },
      { id: 3, method: 'session/new', params: { cwd: 'relative' } },
    ];
    world.send(lines.map((line) => JSON.stringify({ jsonrpc: '2.0', ...line })).join('\n'));
    void world.agent().then((agent) => agent.sawEof.then(() => agent.order({ exit: 0 })));

    expect(await world.close()).toBe(0);
    expect(world.editor.takeAll()).toEqual([
      success(1, { protocolVersion: 1 }),
      failure(2, -32002, { sessionId: 'no' }),
      failure(3, -32602),
    ]);
  });

  test('T6 the last line counts, also without a line end', async () => {
    world = await World.initialized();
    const { id, agent } = await world.session(world.workspace('own'), 's1');
    world.send(`{"jsonrpc":"2.0","method":"_tell","params":{"sessionId":"${id}"}}`);
    world.process.stdin.end();

    expect(await agent.inbox.next(() => true)).toHaveProperty('method', '_tell');
  });
});

describe('a signal', () => {
  test.each(signals)('L2 %s ends the agents and the proxy, with status 0', async (signal) => {
    world = await World.initialized();
    const session = await world.session(world.workspace('own'), 's1');
    const turn = await startTurn(world, session);
    session.agent.send({ id: 1, method: 'session/request_permission', params: permissionParams('s1') });
    await world.editor.next('session/request_permission');
    for (const agent of world.agents) void agent.sawEof.then(() => agent.order({ exit: 0 }));
    world.process.kill(signal);

    expect(await world.exited()).toBe(0);
    expect(await session.agent.inbox.next(() => true)).toEqual(
      success(1, { outcome: { outcome: 'cancelled' } }),
    );
    expect(await session.agent.inbox.next(() => true)).toHaveProperty('method', 'session/cancel');
    expect(await world.editor.response(turn.id)).toMatchObject(failure(turn.id, -32603));
  });

  test('L2 SIGTERM ends agents that ignore it', async () => {
    world = await World.initialized({ env: { ...hastened, CAI_PUPPET_IGNORE: '1' } });
    const { agent } = await world.session(world.workspace('own'), 's1');
    world.process.kill('SIGTERM');

    expect(await world.exited()).toBe(0);
    expect(agent.signals).toEqual(['SIGTERM']);
    await untilGone(agent.pid);
  });

  test('L2 SIGTERM ends a proxy that is initializing', async () => {
    world = await World.start({ agentHello: false });
    world.ask('initialize', { protocolVersion: 1 });
    const agent = await world.agent();
    void agent.sawEof.then(() => agent.order({ exit: 0 }));
    world.process.kill('SIGTERM');

    expect(await world.exited()).toBe(0);
    await agent.gone;
  });

  test('L2 SIGTERM after the end of stdin ends the wait for what is due', async () => {
    world = await World.initialized();
    const { agent } = await world.session(world.workspace('own'), 's1');
    const opening = world.ask('session/new', { cwd: world.workspace('own'), mcpServers: [] });
    world.process.stdin.end();
    await agent.inbox.next('session/new');
    void agent.sawEof.then(() => agent.order({ exit: 0 }));
    world.process.kill('SIGTERM');

    // Its own limit is 10 s.
    expect(await world.exited()).toBe(0);
    expect(await world.editor.response(opening)).toMatchObject(failure(opening, -32603));
  });

  test('L4 SIGKILL, which no proxy can do anything about, is the end of stdin for every agent', async () => {
    world = await World.initialized();
    const { agent: a } = await world.session(world.workspace('own'), 's1');
    const { agent: b } = await world.session(world.workspace('b'), 's1');
    world.process.kill('SIGKILL');

    for (const agent of [a, b]) {
      await agent.sawEof;
      agent.order({ exit: 0 });
      await untilGone(agent.pid);
    }
  });
});

describe('an editor that cannot be reached any more', () => {
  test('L2 by writing: it is as if it were gone', async () => {
    world = await World.initialized();
    const { agent } = await world.session(world.workspace('own'), 's1');
    world.process.stdout.destroy();
    void agent.sawEof.then(() => agent.order({ exit: 0 }));
    for (let i = 0; i < 3; i++) agent.say('s1', 'nobody reads this');

    expect(await world.exited()).toBe(0);
    expect(isAlive(agent.pid)).toBe(false);
  });

  test('L2 by reading: it is as if it were gone, and the exit status is 1', async () => {
    const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const editor = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const [stdin] = (await once(server, 'connection')) as [Socket];
    server.close();
    world = await World.start({ stdin });
    // The proxy has it now.
    stdin.destroy();
    editor.write('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n');
    await world.editor.response(1);
    const agent = await world.agent();
    void agent.sawEof.then(() => agent.order({ exit: 0 }));
    editor.resetAndDestroy();

    expect(await world.exited()).toBe(1);
    expect(world.stderr).toContain('the editor cannot be read any more');
  });
});
