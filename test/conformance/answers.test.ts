/** Statements J5 and J6: every request is answered once, no notification ever is. */
import { endAgents, exchange, leave, sentBy, sentTo, startCall } from '../support/dialogue';
import { hastened } from '../support/hastened';
import { failure, success } from '../support/messages';
import { SharedWorlds } from '../support/shared-worlds';
import { askEditor, openFresh, type OpenSession } from '../support/turn';
import { fullAgent, World } from '../support/world';

/** Notifications of the editor, legal and not; `SESSION` stands for an open session. */
const notifications = [
  ['of an unknown method', '{"jsonrpc":"2.0","method":"_unknown"}'],
  [
    'of a method without underscore that nobody knows',
    '{"jsonrpc":"2.0","method":"future/thing","params":{}}',
  ],
  ['for an unknown session', '{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"no"}}'],
  ['of an extension for an unknown session', '{"jsonrpc":"2.0","method":"_x","params":{"sessionId":"no"}}'],
  ['whose params are a string', '{"jsonrpc":"2.0","method":"session/cancel","params":"no"}'],
  ['whose params are missing', '{"jsonrpc":"2.0","method":"session/cancel"}'],
  ['whose session is a number', '{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":1}}'],
  ['whose folder does not exist', '{"jsonrpc":"2.0","method":"_x","params":{"cwd":"/no/such/folder"}}'],
  ['that should be initialize', '{"jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":1}}'],
  [
    'that should be session/new',
    '{"jsonrpc":"2.0","method":"session/new","params":{"cwd":"/no/such/folder"}}',
  ],
  ['that should be session/load', '{"jsonrpc":"2.0","method":"session/load","params":{"sessionId":"no"}}'],
  [
    'that should be session/prompt',
    '{"jsonrpc":"2.0","method":"session/prompt","params":{"sessionId":"SESSION"}}',
  ],
  ['that should be session/list', '{"jsonrpc":"2.0","method":"session/list","params":{"cursor":"no"}}'],
  [
    'that should be session/delete',
    '{"jsonrpc":"2.0","method":"session/delete","params":{"sessionId":"no"}}',
  ],
  ['that should be authenticate', '{"jsonrpc":"2.0","method":"authenticate","params":{}}'],
  [
    'whose session stands twice',
    '{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"a","sessionId":"b"}}',
  ],
  [
    'that cancels an unknown request',
    '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":77}}',
  ],
  ['that cancels nothing', '{"jsonrpc":"2.0","method":"$/cancel_request"}'],
] as const;

describe('notifications', () => {
  const worlds = new SharedWorlds();

  test('J5 no notification of the editor is answered', async () => {
    const world = await worlds.initialized();
    const { id, agent } = await openFresh(world);
    for (const [, text] of notifications) world.send(`${text.replace('SESSION', id)}\n`);

    // A request last: those before it have been looked at, and folders looked up, when it has an answer.
    const last = world.ask('session/new', { cwd: agent.cwd, mcpServers: [] });
    const request = await agent.inbox.next(({ method, id }) => method === 'session/new' && id === last);
    agent.send({ id: request.id, result: { sessionId: 's2' } });

    expect(await world.editor.next(() => true)).toMatchObject({ id: last });
    expect(await sentBy(world, agent)).toEqual([]);
  });

  test('J5 no notification of the editor is answered before initialize', async () => {
    const world = await World.start();
    for (const [, text] of notifications) world.send(`${text}\n`);
    await world.request('initialize', { protocolVersion: 1 });

    expect(world.editor.takeAll()).toEqual([]);
    expect(world.agents).toHaveLength(1);
    await world.end();
  });

  test('J5 no notification of an agent is answered', async () => {
    const world = await worlds.initialized({}, {});
    const { agent, agentId: sessionId } = await openFresh(world);
    const methods = [
      '_unknown',
      'future/thing',
      'fs/read_text_file',
      'terminal/create',
      'elicitation/create',
    ];
    for (const method of [...methods, 'session/request_permission', 'session/update', 'mcp/message']) {
      agent.send({ method });
      agent.send({ method, params: [] });
      agent.send({ method, params: { sessionId: 'no' } });
      agent.send({ method, params: { sessionId, path: '/etc/passwd' } });
    }
    await sentBy(world, agent);

    expect(await sentTo(world, agent)).toEqual([]);
  });

  test('J5 a session/new that is no request opens nothing', async () => {
    const world = await worlds.initialized();
    const { agent } = await openFresh(world);
    world.send({ method: 'session/new', params: { cwd: agent.cwd, mcpServers: [] } });
    await agent.inbox.next('session/new');

    agent.say('s2', 'for a session that nobody has opened');

    expect(await sentBy(world, agent)).toEqual([]);
  });
});

describe('requests', () => {
  let world: World;
  afterEach(() => world.end());

  test('J6 fifty requests at an agent that dies and fifty at one that answers get one answer each', async () => {
    world = await World.initialized();
    const [a, b] = [
      await world.session(world.workspace('a'), 's1'),
      await world.session(world.workspace('b'), 's1'),
    ];
    const toA = Array.from({ length: 50 }, () => world.ask('_x', { sessionId: a.id }));
    const toB = Array.from({ length: 50 }, () => world.ask('_x', { sessionId: b.id }));
    await sentTo(world, a.agent);

    a.agent.order({ kill: 'SIGKILL' });
    const last = await world.editor.response(toA.at(-1));
    for (const { id } of await sentTo(world, b.agent)) b.agent.send({ id, result: {} });
    const answers = await sentBy(world, b.agent);

    expect([...answers.slice(0, 49), last]).toEqual(toA.map((id) => failure(id, -32603)));
    expect(answers.slice(49)).toEqual(toB.map((id) => success(id, {})));
  });

  test('J6 requests that wait for an agent that cannot be started get one -32603 each', async () => {
    world = await World.start({ agentHello: false });
    const hello = world.ask('initialize', { protocolVersion: 1 });
    await (await world.agent()).greet(fullAgent);
    await world.editor.response(hello);
    const cwd = world.workspace('a');
    const ids = [1, 2, 3].map(() => world.ask('session/new', { cwd, mcpServers: [] }));
    const agent = await world.agent(cwd);
    await agent.inbox.next('initialize');
    // What is sent last is answered without an agent: those before it have arrived.
    await world.editor.response(world.ask('session/prompt', { sessionId: 'unknown', prompt: [] }));
    // A status after which it is not started again.
    agent.order({ exit: 127 });

    for (const id of ids) expect(await world.editor.response(id)).toMatchObject(failure(id, -32603));
    expect(await sentBy(world, world.agents[0]!)).toEqual([]);
  });

  test('J6 a request that goes to all agents gets one answer, whoever answers first', async () => {
    world = await World.initialized();
    const { agent: a } = await world.session(world.workspace('a'), 's1');
    const { agent: b } = await world.session(world.workspace('b'), 's1');
    const [own] = world.agents;
    const id = world.ask('authenticate', { methodId: 'key' });
    for (const agent of [b, own!, a]) {
      await agent.answer('authenticate', { result: { by: agent.cwd } });
    }

    expect(await world.editor.response(id)).toEqual(success(id, { by: own!.cwd }));
    for (const agent of [own!, a, b]) expect(await sentBy(world, agent)).toEqual([]);
  });

  test('J6 a request that goes to all agents gets one answer when one of them dies and one refuses', async () => {
    world = await World.initialized();
    const { agent: a } = await world.session(world.workspace('a'), 's1');
    const { agent: b } = await world.session(world.workspace('b'), 's1');
    const [own] = world.agents;
    const id = world.ask('authenticate', { methodId: 'key' });
    const [toOwn, toB] = [await own!.inbox.next('authenticate'), await b.inbox.next('authenticate')];
    a.order({ exit: 0 });
    const error = { code: -32000, message: 'who are you' };
    b.send({ id: toB.id, error });
    own!.send({ id: toOwn.id, result: {} });

    expect(await world.editor.response(id)).toEqual({ jsonrpc: '2.0', id, error });
    for (const agent of [own!, b]) expect(await sentBy(world, agent)).toEqual([]);
  });

  test('J6 an MCP request of the editor goes to the agent that it belongs to, and nobody’s is an error', async () => {
    world = await World.initialized();
    const method = 'mcp/message';
    const { agent: a } = await world.session(world.workspace('own'), 's1');
    const ofConnection = await exchange(world, a, method, { connectionId: 'c' }, { result: { x: 1.5 } });
    const { agent: b } = await world.session(world.workspace('b'), 's1');
    const asking = { id: 0, method, params: { serverId: 's', requestId: 'r' } };
    await askEditor(world, a, asking);
    const { params: ofB } = await askEditor(world, b, asking);

    const answered = await exchange(
      world,
      b,
      method,
      { ...(ofB as object), method: 'm' },
      { result: { y: 1 } },
    );
    const nobodys = [{}, { connectionId: 'c' }, { serverId: 's', requestId: 'none' }];
    for (const params of nobodys) {
      expect(await world.request(method, params)).toMatchObject({ error: { code: -32602 } });
    }

    expect(ofConnection).toMatchObject({
      request: { params: { connectionId: 'c' } },
      response: { result: { x: 1.5 } },
    });
    expect(answered).toMatchObject({
      request: { params: { serverId: 's', requestId: 'r', method: 'm' } },
      response: { result: { y: 1 } },
    });
    for (const agent of [a, b]) expect(await sentTo(world, agent)).toEqual([]);
    // Nothing is left that the end would wait for.
    expect(await leave(world)).toBe(0);
  });
});

describe('requests to one agent and of it', () => {
  let world: World;
  let session: OpenSession;
  beforeAll(async () => void (world = await World.initialized()));
  beforeEach(async () => void (session = await openFresh(world)));
  afterEach(() => endAgents(world, session.agent));
  afterAll(() => world.end());

  test('J6 requests of the editor under the names of notifications are answered, and cancel nothing', async () => {
    const { id: sessionId, agent } = session;
    const open = await startCall(world, agent, '_x', { sessionId });

    for (const params of [{ requestId: open.id }, { requestId: 'none' }, undefined]) {
      expect(await world.request('$/cancel_request', params)).toMatchObject({ error: { code: -32601 } });
    }
    const error = { code: -32601, message: 'it is none' };
    const { response } = await exchange(world, agent, 'session/cancel', { sessionId }, { error });

    expect(response).toMatchObject({ error });
    expect(await sentTo(world, agent)).toEqual([]);
    expect(await open.end()).toEqual(success(open.id, {}));
  });

  test('J6 requests of an agent under the names of notifications are answered, and go to nobody', async () => {
    const { agent } = session;
    agent.send({ id: 'open', method: '_x' });
    await world.editor.next('_x');
    agent.send({
      id: 'e',
      method: 'elicitation/create',
      params: { mode: 'url', url: 'https://x', elicitationId: 'e' },
    });
    await world.editor.next('elicitation/create');
    const requests = [
      ['elicitation/complete', { elicitationId: 'e' }],
      ['elicitation/complete', { elicitationId: 'none' }],
      ['$/cancel_request', { requestId: 'open' }],
      ['$/cancel_request', { requestId: 'none' }],
      ['auth/status_update', { a: 1 }],
      ['_auth/status_update', {}],
    ] as const;
    for (const [id, [method, params]] of requests.entries()) agent.send({ id, method, params });

    expect(await sentBy(world, agent)).toEqual([]);
    const answers = (await sentTo(world, agent)).map(({ id, error }) => ({ id, error }));
    expect(answers).toEqual(
      requests.map(([method], id) => ({
        id,
        error: expect.objectContaining({ code: -32601, data: { method } }) as object,
      })),
    );
  });

  test.each([
    ['a raw tab', '"id":ID,"result":{"text":"a\tb"}'],
    ['bytes that are no UTF-8', Buffer.from('"id":ID,"result":{"text":"\xff"}', 'latin1')],
    ['a trailing comma', '"result":{"stopReason":"end_turn"},"id":ID,'],
    ['two ids, the other one last', '"id":ID,"id":"other","result":{}'],
    ['two ids, the other one first', '"id":"other","id":ID,"result":{}'],
    ['a method', '"id":ID,"method":"session/prompt","result":{}'],
    ['the end missing', '"id":ID,"result":{"text":"a'],
  ])('J6 a request whose answer has %s is answered with -32603', async (_, members) => {
    const { id: sessionId, agent } = session;
    const call = await startCall(world, agent, 'session/prompt', { sessionId, prompt: [] });
    const text = Buffer.from(members).toString('latin1').replace('ID', String(call.id));
    agent.send(Buffer.from(`{"jsonrpc":"2.0",${text}}\n`, 'latin1'));

    expect(await sentBy(world, agent)).toEqual([failure(call.id, -32603)]);
    expect(await sentTo(world, agent)).toEqual([]);
  });

  test('J6 a log line of an agent that quotes an answer ends no request', async () => {
    const { id: sessionId, agent } = session;
    const id = world.ask('_x', { sessionId });
    await agent.inbox.next('_x');
    agent.send(`sent {"jsonrpc":"2.0","id":${id},"result":{}}\n`);
    agent.send({ id, result: 1 });

    expect(await sentBy(world, agent)).toEqual([success(id, 1)]);
  });

  test.each([
    ['a window title', '\u001b]0;agent: ready\u0007', ''],
    ['a prompt', '> ', ''],
    ['a banner', 'Welcome!', ''],
    ['a byte order mark', '\ufeff', ''],
    ['colours around it', '\u001b[?25l\u001b[32m', '\u001b[0m '],
  ])('J6 an answer behind %s is found', async (_, before, after) => {
    const { id: sessionId, agent } = session;
    const call = await startCall(world, agent, 'session/prompt', { sessionId, prompt: [] });
    const answer = JSON.stringify({ jsonrpc: '2.0', id: call.id, result: { stopReason: 'end_turn' } });
    agent.send(`${before}${answer}${after}\n`);

    expect(await sentBy(world, agent)).toEqual([success(call.id, { stopReason: 'end_turn' })]);
  });

  test('J6 a broken answer behind other bytes fails its request, and the error shows its beginning', async () => {
    const { id: sessionId, agent } = session;
    const call = await startCall(world, agent, 'session/prompt', { sessionId, prompt: [] });
    agent.send(`\u001b[0m{"jsonrpc":"2.0","id":${call.id},"result":{"a":nothing}}\n`);

    const [answer] = await sentBy(world, agent);
    expect(answer).toEqual(failure(call.id, -32603));
    expect(answer).toHaveProperty('error.message', expect.stringContaining('begins with "{\\"jsonrpc\\"'));
  });

  test('J6 answers that an agent gives twice, or to nothing, are not passed on', async () => {
    const { id: sessionId, agent } = session;
    const call = await startCall(world, agent, '_x', { sessionId });
    agent.send({ id: call.id, result: 1 });
    agent.send({ id: call.id, result: 2 });
    agent.send({ id: call.id, error: { code: 1, message: '' } });
    agent.send({ id: null, error: { code: -32700, message: 'Parse error' } });
    agent.send({ id: 'never asked', result: {} });

    expect(await sentBy(world, agent)).toEqual([success(call.id, 1)]);
    expect(await sentTo(world, agent)).toEqual([]);
  });

  test('J6 answers that the editor gives twice, or to nothing, are not passed on', async () => {
    const { agent } = session;
    agent.send({ id: 0, method: '_x' });
    const { id } = await world.editor.next('_x');
    for (const answered of [id, id, 'never asked', null, 99]) world.send({ id: answered, result: {} });

    expect(await sentTo(world, agent)).toEqual([success(0, {})]);
    expect(await sentBy(world, agent)).toEqual([]);
  });
});

describe('an answer that a log line may only quote', () => {
  let world: World;
  let session: OpenSession;
  beforeAll(async () => void (world = await World.initialized({ env: hastened })));
  beforeEach(async () => void (session = await openFresh(world)));
  afterEach(() => endAgents(world, session.agent));
  afterAll(() => world.end());

  test.each([
    ['words', (answer: string) => `Loading the model... ${answer}`],
    ['words with a brace', (answer: string) => `[info] {"level":1} {ready} ${answer}`],
    ['a line of progress', (answer: string) => `10 %\r100 %\r${answer}`],
    ['another message, in a list', (answer: string) => `[{"jsonrpc":"2.0","method":"_x"},${answer}]`],
    ['words, and broken in two', (answer: string) => `done: ${answer.replace('{"stop', '\n{"stop')}`],
  ])('J6 an answer behind %s, which a log line may quote, fails its request soon', async (_, lineOf) => {
    const { id: sessionId, agent } = session;
    const call = await startCall(world, agent, 'session/prompt', { sessionId, prompt: [] });
    const answer = JSON.stringify({ jsonrpc: '2.0', id: call.id, result: { stopReason: 'end_turn' } });
    agent.send(`${lineOf(answer)}\n`);

    const told = await world.editor.next(({ id }) => id === call.id);

    expect(told).toEqual(failure(call.id, -32603));
    const beginning = JSON.stringify(lineOf(answer).slice(0, 20).replaceAll('\r', ' ')).slice(1, -1);
    expect(JSON.stringify(told)).toContain(JSON.stringify(`begins with "${beginning}`).slice(1, -1));
  });

  test('J6 a log line with an answer of an MCP server ends no request of the same id', async () => {
    const { id: sessionId, agent } = session;
    const call = await startCall(world, agent, 'session/prompt', { sessionId, prompt: [] });
    agent.send(`mcp: {"jsonrpc":"2.0","id":${call.id},"result":{"content":[]}}\n`);
    agent.send(`mcp: {"jsonrpc":"2.0","id":-1,"result":null}\n`);
    agent.send(`mcp: {"jsonrpc":"2.0","id":999,"result":{"stopReason":"x"}}\n`);
    // By then the time is over in which it would have failed.
    const other = await startCall(world, agent, '_x', { sessionId });
    agent.send(`sent: {"jsonrpc":"2.0","id":${other.id},"result":null}\n`);
    await world.editor.next(({ id }) => id === other.id);
    agent.send({ id: call.id, result: { stopReason: 'end_turn' } });

    expect(await sentBy(world, agent)).toEqual([success(call.id, { stopReason: 'end_turn' })]);
  });
});
