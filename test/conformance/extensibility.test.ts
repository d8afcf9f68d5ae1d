/** Statements N: `_meta`, extension methods, methods and values of the future. */
import { exchange, expectNothingLeft, sentBy, sentTo, startCall } from '../support/dialogue';
import type { Json } from '../support/inbox';
import { failure, success } from '../support/messages';
import { SharedWorlds } from '../support/shared-worlds';
import { openFresh, openWorld, type OpenSession } from '../support/turn';
import { toAgent, toEditor } from '../support/verbatim';
import { World } from '../support/world';

/** `_meta` as tracing wants it, with what else may stand there. */
const meta =
  '"_meta":{"traceparent":"00-0af7-b7ad-01","tracestate":"","baggage":"k=v","x.dev/y":{"sessionId":1,"path":[null]}}';

/** Members of a request or notification, with every shape of params. */
const paramsOfAnyShape = [
  ['an array', '"params":[1.0,{"a":null}],'],
  ['an object', '"params":{"a":1.0},'],
  ['no params', ''],
  ['null', '"params":null,'],
  ['a session that is a number', '"params":{"sessionId":5},'],
];

describe('what one agent is sent and sends', () => {
  let world: World;
  let session: OpenSession;
  beforeAll(async () => ({ world, session } = await openWorld({}, 'agents-session')));
  afterAll(() => world.end());
  afterEach(() => expectNothingLeft(world, session.agent));

  test('N1 _meta of results and of the data of errors comes back unchanged', async () => {
    for (const outcome of [
      `"result":{"stopReason":"end_turn",${meta}}`,
      `"error":{"code":1,"message":"","data":{${meta}}}`,
    ]) {
      const id = world.ask('session/prompt', { sessionId: session.id, prompt: [] });
      await session.agent.inbox.next('session/prompt');
      const line = `{"jsonrpc":"2.0","id":${id},${outcome}}`;

      expect(await toEditor(world, session, line)).toBe(line);
    }
  });

  test('N2 the proxy puts nothing of its own beside the fields of a request and its result', async () => {
    const params = { cwd: world.workspace('own'), mcpServers: [] };
    const result = { sessionId: 's2', modes: null };
    const { request, response } = await exchange(world, session.agent, 'session/new', params, { result });

    expect(request).toEqual({ jsonrpc: '2.0', id: response.id, method: 'session/new', params });
    expect(response).toEqual(success(response.id, { ...result, sessionId: expect.any(String) as string }));
  });

  test.each(paramsOfAnyShape)(
    'N3 a request of the editor with a method of its own, with %s, and its result',
    async (_, params) => {
      const request = `{"jsonrpc":"2.0",${params}"id":"n5","method":"_ask"}`;
      const response = '{"jsonrpc":"2.0","id":"n5","result":[1.0,{"a":null}]}';

      expect(await toAgent(world, session, request)).toBe(request);
      expect(await toEditor(world, session, response)).toBe(response);
    },
  );

  test.each(paramsOfAnyShape)(
    'N3 a request of the agent with a method of its own, with %s, and its result',
    async (_, params) => {
      const line = await toEditor(world, session, `{"jsonrpc":"2.0",${params}"id":"n6","method":"_ask"}`);
      const id = /"id":(\d+)/.exec(line)![1]!;
      const response = (of: string) => `{"jsonrpc":"2.0","id":${of},"result":[1.0,{"a":null}]}`;

      expect(line).toBe(`{"jsonrpc":"2.0",${params}"id":${id},"method":"_ask"}`);
      expect(await toAgent(world, session, response(id))).toBe(response('"n6"'));
    },
  );

  test("N3 -32601 is the agent's own, not the proxy's, and the other way round", async () => {
    const error = { code: -32601, message: 'no such thing here', data: { method: '_other' } };
    const { response } = await exchange(world, session.agent, '_ask', {}, { error });
    session.agent.send({ id: 0, method: '_ask' });
    await world.answer('_ask', { error });

    expect(response).toEqual({ jsonrpc: '2.0', id: response.id, error });
    expect(await session.agent.inbox.next(() => true)).toEqual({ jsonrpc: '2.0', id: 0, error });
  });

  test.each(paramsOfAnyShape)(
    'N4 a notification with a method of its own, with %s, both ways',
    async (_, params) => {
      const line = `{"jsonrpc":"2.0",${params}"method":"_tell"}`;

      expect(await toAgent(world, session, line)).toBe(line);
      expect(await toEditor(world, session, line)).toBe(line);
    },
  );

  test('N4 a notification for a session that nobody has is ignored', async () => {
    world.send({ method: '_tell', params: { sessionId: 'no' } });

    expect(await sentTo(world, session.agent)).toEqual([]);
    expect(await sentBy(world, session.agent)).toEqual([]);
  });

  test('N6 an unknown outcome of a permission request, and an unknown reason to stop, are nothing else', async () => {
    const { id: sessionId, agent, agentId } = session;
    const prompt = await startCall(world, agent, 'session/prompt', { sessionId, prompt: [] });
    agent.send({ id: 1, method: 'session/request_permission', params: { sessionId: agentId, options: [] } });
    const result = { outcome: { outcome: '_perhaps', optionId: 'allow' } };
    await world.answer('session/request_permission', { result });
    expect(await agent.inbox.next(() => true)).toEqual(success(1, result));
    agent.send({ id: prompt.id, result: { stopReason: '_bored' } });

    expect(await world.editor.next(() => true)).toEqual(success(prompt.id, { stopReason: '_bored' }));
  });
});

describe('with several agents', () => {
  let world: World;
  let a: OpenSession;
  let b: OpenSession;
  beforeAll(async () => {
    world = await World.initialized();
    a = await world.session(world.workspace('a'), 's1');
    b = await world.session(world.workspace('b'), 's1');
  });
  afterAll(() => world.end());
  afterEach(() => expectNothingLeft(world, ...world.agents));

  test.each(['_ask', 'session/future', 'future/thing', 'session/new2'])(
    'N5 %s goes to the agent of the session that it names, and its result comes back',
    async (method) => {
      for (const { id, agentId, agent } of [b, a]) {
        const params = { deep: { sessionId: 'other' }, sessionId: id };
        const { request, response } = await exchange(world, agent, method, params, { result: [method] });

        expect(request.params).toEqual({ ...params, sessionId: agentId });
        expect(response).toEqual(success(response.id, [method]));
      }
    },
  );

  test.each(['_ask', 'future/thing'])(
    'N5 %s goes to the agent of the folder that it names',
    async (method) => {
      for (const { agent } of [b, a]) {
        const { request } = await exchange(world, agent, method, { cwd: agent.cwd });
        expect(request.params).toEqual({ cwd: agent.cwd });
      }
    },
  );

  test.each(['_ask', 'future/thing'])(
    'N5 %s without a target goes to the agent that was used last',
    async (method) => {
      for (const { agent } of [b, a]) {
        await exchange(world, agent, '_ask', { cwd: agent.cwd });
        await exchange(world, agent, method, {});
      }
      expect(await sentTo(world, ...world.agents)).toEqual([]);
    },
  );

  test.each([
    ['session', ({ id }: OpenSession): Json => ({ sessionId: id })],
    ['folder', ({ agent }: OpenSession): Json => ({ cwd: agent.cwd })],
  ])('N5 the session that an unknown method gives for a %s can be used', async (name, paramsOf) => {
    const ids: unknown[] = [];
    for (const { id, agent, ...rest } of [b, a]) {
      const params = paramsOf({ id, agent, ...rest });
      const result = { sessionId: `of ${name}` };
      const { response } = await exchange(world, agent, 'x/fork', params, { result });
      const { sessionId } = response.result as { sessionId: string };
      ids.push(sessionId);

      const prompt = await startCall(world, agent, 'session/prompt', { sessionId, prompt: [] });
      expect(prompt.received.params).toEqual({ sessionId: `of ${name}`, prompt: [] });
      agent.say(`of ${name}`, 'x');
      expect((await world.editor.next('session/update')).params).toMatchObject({ sessionId });
      await prompt.end();
    }
    expect(new Set([...ids, a.id, b.id, `of ${name}`]).size).toBe(5);
  });

  test.each(['_ask', 'session/future', 'future/thing'])(
    'N5 %s of an agent reaches the editor',
    async (method) => {
      const message: Json = { id: 1, method, params: { sessionId: 's1', x: 1 } };
      b.agent.send(message);
      expect((await world.answer(method, { result: {} })).params).toEqual({ sessionId: b.id, x: 1 });
      expect(await b.agent.inbox.next(() => true)).toEqual(success(1, {}));
    },
  );

  test('N5 a request for a session that nobody has is answered -32002 with its id', async () => {
    const response = await world.request('session/future', { sessionId: 'no' });

    expect(response).toEqual(failure(response.id, -32002, { sessionId: 'no' }));
  });

  test('N4 a notification without a target goes to every agent, once', async () => {
    world.send({ method: '_tell', params: { x: 1 } });
    const told = await sentTo(world, ...world.agents);

    expect(told).toEqual(world.agents.map(() => ({ jsonrpc: '2.0', method: '_tell', params: { x: 1 } })));
  });
});

describe('a session that an unknown method gives, without a target', () => {
  let world: World;
  afterEach(() => world.end());

  /** What the editor gets for a session of that agent, and what a prompt for it comes to. */
  async function given({ agent }: Pick<OpenSession, 'agent'>, agentId: string) {
    const result = { sessionId: agentId };
    const { response } = await exchange(world, agent, 'x/restore', { name: 'a' }, { result });
    const { sessionId } = response.result as { sessionId: string };
    world.send({ id: `prompt ${agentId}`, method: 'session/prompt', params: { sessionId, prompt: [] } });
    return sessionId;
  }

  test('N5 can be used where there is one agent, in the folders of its newest session', async () => {
    world = await World.initialized({}, { fs: { readTextFile: true } });
    const { agent } = await world.session(world.workspace('own'), 's1');
    const sessionId = await given({ agent }, 's2');

    expect(sessionId).toMatch(/^[\da-f-]{36}$/);
    expect((await agent.inbox.next('session/prompt')).params).toEqual({ sessionId: 's2', prompt: [] });
    const path = `${agent.cwd}/a`;
    agent.send({ id: 'r', method: 'fs/read_text_file', params: { sessionId: 's2', path } });
    expect((await world.editor.next('fs/read_text_file')).params).toEqual({ sessionId, path });
  });

  test('N5 can be used where that agent has no session, in its workspace', async () => {
    world = await World.initialized();
    const cwd = world.workspace('own');
    const id = world.ask('session/new', { cwd, mcpServers: [] });
    const agent = await world.agent(cwd);
    await agent.answer('session/new', { error: { code: -32603, message: 'no' } });
    await world.editor.response(id);
    await given({ agent }, 's1');

    expect((await agent.inbox.next('session/prompt')).params).toEqual({ sessionId: 's1', prompt: [] });
  });

  test('N5 is nobody’s where several agents could be meant', async () => {
    world = await World.initialized();
    await world.session(world.workspace('a'), 's1');
    const b = await world.session(world.workspace('b'), 's1');

    expect(await given(b, 's2')).toBe('s2');
    expect(await world.editor.response('prompt s2')).toEqual(
      failure('prompt s2', -32002, { sessionId: 's2' }),
    );
  });
});

describe('without an agent', () => {
  let world: World;
  afterEach(() => world.end());

  test('N4 a notification is ignored, and a request refused', async () => {
    world = await World.initialized({
      args: ['missing'],
      config: '[agents.missing]\ncommand = ["/no/such/agent"]',
    });
    world.send({ method: '_tell' });

    expect(await world.request('_ask')).toEqual(failure(2, -32601, { method: '_ask' }));
    expect(world.editor.takeAll()).toEqual([]);
  });
});

describe('a method without a row that acts on files or commands, by its name', () => {
  const params = { sessionId: 's', path: '/etc/passwd', command: 'touch' };
  const worlds = new SharedWorlds();
  let world: World;
  let agent: OpenSession['agent'];

  const open = async (clientCapabilities: Json): Promise<void> => {
    world = await worlds.initialized({}, clientCapabilities);
    ({ agent } = await openFresh(world, 's'));
  };

  test.each(['fs/delete_file', 'FS/read_text_file', 'Terminal/Create', '_terminal/create', 'x/execute'])(
    'N7 %s does not reach an editor that has not announced it, as a request or a notification',
    async (method) => {
      await open({ fs: { readTextFile: true }, terminal: true, _meta: { terminal_output: true } });
      agent.send({ id: 1, method, params });
      agent.send({ method, params });

      expect(await agent.inbox.response(1)).toMatchObject({ error: { code: -32601, data: { method } } });
      expect(await sentBy(world, agent)).toEqual([]);
    },
  );

  test('N7 one that the editor has announced reaches it, in the session that it has there', async () => {
    await open({ _meta: { 'x.dev': { files: true } } });
    agent.send({ id: 1, method: '_x.dev/files/open', params });
    const { id, params: given } = await world.editor.next('_x.dev/files/open');
    world.send({ id, result: { done: true } });

    expect(given).toEqual({ ...params, sessionId: expect.not.stringMatching(/^s$/) as string });
    expect(await agent.inbox.response(1)).toEqual(success(1, { done: true }));
  });

  test('N7 one of the areas that ACP has itself reaches no editor, whatever it has announced', async () => {
    await open({ _meta: { fs: true, 'fs/delete_file': true, Terminal: true } });
    agent.send({ id: 1, method: 'fs/delete_file', params });
    agent.send({ id: 2, method: 'Terminal/Create', params });

    for (const id of [1, 2])
      expect(await agent.inbox.response(id)).toMatchObject({ error: { code: -32601 } });
    expect(await sentBy(world, agent)).toEqual([]);
  });
});
