/** Statements I: initialize, before any session and once for the whole connection. */
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { sentTo } from '../support/dialogue';
import { hastened } from '../support/hastened';
import { compiled, run } from '../support/program';
import { fullAgent, fullEditor, World } from '../support/world';

/** What is answered when no agent's answer is to be had. */
const nothingPromised = { protocolVersion: 1, agentCapabilities: {}, authMethods: [] };
const hello = { protocolVersion: 1, clientCapabilities: fullEditor };

describe('initialize', () => {
  let world: World;
  afterEach(() => world.end());

  test('I1 initialize is answered before any session exists, with what the agent answers', async () => {
    world = await World.start();

    expect(await world.request('initialize', hello)).toEqual({ jsonrpc: '2.0', id: 1, result: fullAgent });
    expect(world.agents.map(({ cwd }) => cwd)).toEqual([world.workspace('own')]);
  });

  test('I1 initialize is answered when the agent cannot be started', async () => {
    world = await World.start({
      args: ['missing'],
      config: '[agents.missing]\ncommand = ["/no/such/agent"]',
    });

    const response = await world.request('initialize', hello);

    expect(response).toEqual({ jsonrpc: '2.0', id: 1, result: nothingPromised });
    const said = await world.lastWords();
    expect(said).toContain('initialize is answered without the agent');
    expect(said).toContain('/no/such/agent');
  });

  test('I1 initialize is answered within 15 s when the agent is silent', async () => {
    world = await World.start({ agentHello: false, env: hastened });

    const response = await world.request('initialize', hello);

    expect(response).toEqual({ jsonrpc: '2.0', id: 1, result: nothingPromised });
    expect(await world.lastWords()).toContain('no answer in 15 s');
  });

  test('I1 a working directory that is no workspace is not given to the agent', async () => {
    world = await World.start({ cwd: 'home' });

    expect((await world.request('initialize', hello)).result).toEqual(fullAgent);
    const { cwd } = await world.agent();
    expect(cwd).not.toBe(world.workspace('home'));
    expect(readdirSync(cwd)).toEqual([]);
    expect((await world.session(world.workspace('a'), 's1')).agent.cwd).toBe(world.workspace('a'));
  });

  test.each([1, 2])('I2 I4 a request for version %d is answered with 1', async (asked) => {
    world = await World.start();

    const response = await world.request('initialize', { ...hello, protocolVersion: asked });

    const info = { name: 'puppet', version: '1' };
    expect(response.result).toEqual(asked > 1 ? { info, ...fullAgent } : fullAgent);
    expect((await world.agent()).initialize!.params).toEqual({ ...hello, protocolVersion: 1 });
  });

  /** The official SDK's client of version 2 on its own stdin and stdout; says on stderr what `initialize` comes to. */
  const secondVersion = compiled(`
    import { Readable, Writable } from 'node:stream';
    import { client, ndJsonStream } from '@agentclientprotocol/sdk/experimental/v2';
    const stream = ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin));
    const info = { name: 'second', version: '2' };
    client().connect(stream).agent.request('initialize', { protocolVersion: 2, info, capabilities: {} }).then(
      () => process.stderr.write('initialized'),
      ({ code, message, data }) => process.stderr.write(JSON.stringify({ code, message, data })),
    ).finally(() => process.exit());
  `);

  test.each([[fullAgent], [nothingPromised]])(
    'I2 the SDK’s client of version 2 is told that it got version 1: %#',
    async (agentHello) => {
      world = await World.start({ agentHello });
      const editor = run(secondVersion, []);
      editor.stdout.pipe(world.process.stdin);
      world.process.stdout.pipe(editor.stdin);
      let said = '';
      editor.stderr.on('data', (chunk) => (said += String(chunk)));
      await once(editor, 'close');

      expect(JSON.parse(said)).toMatchObject({
        data: { expectedProtocolVersion: 2, receivedProtocolVersion: 1 },
      });
    },
  );

  test('I2 a version that is written 1.0 is 1', async () => {
    world = await World.start();
    world.send('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1.0}}\n');

    expect((await world.editor.response(1)).result).toEqual(fullAgent);
  });

  test.each([['"1"'], ['null']])(
    'I2 a version %s is refused, and a right one taken after that',
    async (version) => {
      world = await World.start();

      world.send(
        `{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":${version}}}\n`,
      );
      const refused = await world.editor.response('a');
      const tooEarly = await world.request('session/new', { cwd: world.workspace('a'), mcpServers: [] });
      const accepted = await world.request('initialize', hello);

      expect(refused.error).toMatchObject({ code: -32602 });
      expect(tooEarly.error).toMatchObject({ code: -32600 });
      expect(accepted.result).toEqual(fullAgent);
    },
  );

  test('I4 every agent is sent initialize first and nothing else before it has answered', async () => {
    world = await World.start({ agentHello: false });
    const asked = world.ask('initialize', { ...hello, protocolVersion: 3 });
    const first = await world.agent();
    await first.greet(fullAgent);
    await world.editor.response(asked);

    world.ask('session/new', { cwd: world.workspace('a'), mcpServers: [] });
    const second = await world.agent();
    const received = await second.inbox.next('initialize');
    await world.session(world.workspace('own'), 's1', first);

    expect(received.params).toEqual({ ...hello, protocolVersion: 1 });
    expect(second.inbox.takeAll()).toEqual([]);
    second.send({ id: received.id, result: fullAgent });
    expect(await second.inbox.next('session/new')).toMatchObject({
      params: { cwd: world.workspace('a'), mcpServers: [] },
    });
  });

  test('I4 an agent that answers with another version is not used', async () => {
    world = await World.start({ agentHello: { ...fullAgent, protocolVersion: 2 } });

    const initialized = await world.request('initialize', hello);
    const opened = await world.request('session/new', { cwd: world.workspace('a'), mcpServers: [] });

    expect(initialized.result).toEqual(nothingPromised);
    const message = expect.stringMatching(/^agent "puppet" does not speak ACP version 1/) as string;
    expect(opened.error).toEqual({ code: -32603, message });
  });

  test('I5 a request before initialize gets -32600 and starts nothing', async () => {
    world = await World.start();
    const early = world.workspace('early');

    const requests = [
      world.request('session/new', { cwd: early, mcpServers: [] }),
      world.request('session/load', { sessionId: 's', cwd: early, mcpServers: [] }),
      world.request('session/list', { cwd: early }),
      world.request('authenticate', { methodId: 'key' }),
      world.request('_any'),
    ];

    const error = { code: -32600, message: 'Invalid request: initialize must come first' };
    for (const response of await Promise.all(requests)) expect(response.error).toEqual(error);
    await world.request('initialize', hello);
    await world.session(world.workspace('late'), 's1');
    expect(world.agents.map(({ cwd }) => cwd)).toEqual([world.workspace('own'), world.workspace('late')]);
  });

  test('I5 a notification before initialize is ignored', async () => {
    world = await World.start();

    world.send({ method: 'session/cancel', params: { sessionId: 's' } });
    world.send({ method: 'initialize', params: hello });
    world.send({ method: '_any', params: {} });
    await world.request('initialize', hello);

    expect(world.editor.takeAll()).toEqual([]);
    const agent = await world.agent();
    expect(await sentTo(world, agent)).toEqual([]);
  });

  test('I5 what follows initialize in the same chunk waits for its answer', async () => {
    world = await World.start();
    const params = { cwd: world.workspace('own'), mcpServers: [] };
    const lines = [
      { jsonrpc: '2.0', id: 'i', method: 'initialize', params: hello },
      { jsonrpc: '2.0', id: 'n', method: 'session/new', params },
    ];

    world.send(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const agent = await world.agent();
    await agent.answer('session/new', { result: { sessionId: 's1' } });

    expect(await world.editor.next(() => true)).toEqual({ jsonrpc: '2.0', id: 'i', result: fullAgent });
    expect(await world.editor.next(() => true)).toMatchObject({ id: 'n', result: {} });
  });

  test('I11 the answer stays what it was when the agent answers late, and the agent is used', async () => {
    world = await World.start({ agentHello: false, env: hastened });
    await world.request('initialize', hello);
    const agent = await world.agent();

    await agent.greet(fullAgent);
    await world.session(agent.cwd, 's1', agent);
    expect((await world.request('initialize', hello)).result).toEqual(nothingPromised);
    expect(world.editor.takeAll()).toEqual([]);
  });

  test('I11 a repeated initialize gets the same answer and reaches no agent', async () => {
    world = await World.initialized();
    const agent = await world.agent();

    const again = await world.request('initialize', { ...hello, clientCapabilities: {} });

    expect(again.result).toEqual(fullAgent);
    expect(await sentTo(world, agent)).toEqual([]);
    expect(world.agents).toHaveLength(1);
  });
});
