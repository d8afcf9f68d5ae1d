/** Statements C: permission requests, and what an agent may not ask of the host. */
import { sentBy, sentTo } from '../support/dialogue';
import type { Json } from '../support/inbox';
import { askEditor, permissionParams, type OpenSession } from '../support/turn';
import { World } from '../support/world';

const method = 'session/request_permission';

describe('an agent that asks', () => {
  let world: World;
  let first: OpenSession;
  let second: OpenSession;
  beforeAll(async () => {
    world = await World.initialized();
    first = await world.session(world.workspace('one'), 's');
    second = await world.session(world.workspace('two'), 's');
  });
  afterAll(() => world.end());

  test('C1 the options of a permission request pass with their order, ids and kinds', async () => {
    const params = (sessionId: string): string =>
      `{"options":[{"kind":"reject_always","name":"Never","optionId":"2"},{"optionId":"1","kind":"_once_more","name":"","novel":1.0},` +
      `{"optionId":"2","name":"Twice","kind":"allow_once","_meta":null}],"toolCall":{"toolCallId":"c","rawInput":{"b":1,"a":-0}},"sessionId":"${sessionId}"}`;

    first.agent.send(`{"id":7,"method":"${method}","params":${params('s')},"jsonrpc":"2.0"}\n`);
    const { id } = await world.editor.next(method);

    expect(String(world.editor.lines.at(-1))).toBe(
      `{"id":${String(id)},"method":"${method}","params":${params(first.id)},"jsonrpc":"2.0"}`,
    );
  });

  test('C1 each outcome returns to the agent that asked, under its id', async () => {
    const requests = [
      { agent: first.agent, id: 0 },
      { agent: second.agent, id: 0 },
      { agent: second.agent, id: 'x' },
      { agent: first.agent, id: 1 },
    ];
    const asked: Json[] = [];
    for (const { agent, id } of requests) {
      asked.push(await askEditor(world, agent, { id, method, params: permissionParams('s') }));
    }
    const outcome = (n: number): Json => ({ outcome: { outcome: 'selected', optionId: `option ${n}` } });
    const answered = (n: number): Json => ({ jsonrpc: '2.0', id: requests[n]!.id, result: outcome(n) });

    for (const n of [2, 0, 3, 1]) world.send({ id: asked[n]!.id, result: outcome(n) });

    expect(new Set(asked.map(({ id }) => id)).size).toBe(4);
    expect(await sentTo(world, first.agent)).toEqual([answered(0), answered(3)]);
    expect(await sentTo(world, second.agent)).toEqual([answered(2), answered(1)]);
  });

  test.each([
    ['an unknown outcome', '"result":{"outcome":{"outcome":"_deferred","until":1e3,"optionId":"yes"}}'],
    [
      'an outcome with more in it',
      '"result":{"_meta":{"a":1.0},"outcome":{"optionId":"yes","outcome":"selected","x":null}}',
    ],
    ['a result without an outcome', '"result":{}'],
    ['null', '"result":null'],
    ['an error', '"error":{"code":-32800,"message":"gone","data":[1.0]}'],
  ])('C2 %s is passed as it is', async (_, outcome) => {
    const asked = await askEditor(world, first.agent, { id: 7, method, params: permissionParams('s') });

    world.send(`{${outcome},"jsonrpc":"2.0","id":${String(asked.id)}}\n`);
    await first.agent.inbox.response(7);

    expect(String(first.agent.inbox.lines.at(-1))).toBe(`{${outcome},"jsonrpc":"2.0","id":7}`);
  });

  test('C2 an unknown subject of a permission request is kept', async () => {
    const params = (sessionId: string): Json => ({
      sessionId,
      subject: { type: '_deploy', where: '/srv', toolCallId: 'c' },
      options: [],
      title: null,
    });

    const asked = await askEditor(world, first.agent, { id: 8, method, params: params('s') });
    world.send({ id: asked.id, result: null });

    expect(asked.params).toEqual(params(first.id));
    expect(await first.agent.inbox.response(8)).toEqual({ jsonrpc: '2.0', id: 8, result: null });
  });

  test.each([
    ['create', { command: 'touch', args: ['/tmp/x'], env: [], cwd: '/', outputByteLimit: 1 }],
    ['output', { terminalId: 't' }],
    ['release', { terminalId: 't' }],
    ['wait_for_exit', { terminalId: 't' }],
    ['kill', { terminalId: 't' }],
  ])('C6 terminal/%s is refused and does not reach the editor', async (name, params) => {
    first.agent.send({ id: 9, method: `terminal/${name}`, params: { sessionId: 's', ...params } });

    expect(await first.agent.inbox.response(9)).toMatchObject({ id: 9, error: { code: -32601 } });
    expect(await sentBy(world, first.agent)).toEqual([]);
  });

  test('C6 a terminal/* notification is dropped', async () => {
    first.agent.send({ method: 'terminal/create', params: { sessionId: 's', command: 'touch' } });

    expect(await sentBy(world, first.agent)).toEqual([]);
    expect(await sentTo(world, first.agent)).toEqual([]);
  });
});

describe('a terminal of the editor', () => {
  let world: World;
  afterEach(() => world.end());

  test('C6 is refused also when the editor offers terminals, which no agent is told of', async () => {
    world = await World.initialized({}, { terminal: true });
    const { agent } = await world.session(world.workspace('own'), 's');

    agent.send({ id: 0, method: 'terminal/create', params: { sessionId: 's', command: 'touch' } });
    const answer = await agent.inbox.response(0);

    expect(agent.initialize).toMatchObject({ params: { clientCapabilities: { terminal: false } } });
    expect(answer).toMatchObject({ error: { code: -32601 } });
    expect(await sentBy(world, agent)).toEqual([]);
  });
});
