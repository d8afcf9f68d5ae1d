/** Statements I: what each side is told that the other can do. */
import { exchange, sentTo } from '../support/dialogue';
import type { Json } from '../support/inbox';
import type { Puppet } from '../support/puppet';
import { openFresh } from '../support/turn';
import { fullAgent, World } from '../support/world';

/** An agent that can do nothing that is optional. */
const plainAgent: Json = { protocolVersion: 1 };

let world: World;

describe('capabilities', () => {
  afterEach(() => world.end());

  /** Sends `initialize` with these params, JSON text; the texts of the params that the agent got and of the result. */
  async function initializeWith(params: string): Promise<{ params: string; result: string }> {
    world.send(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":${params}}\n`);
    await world.editor.response('i');
    const agent = await world.agent();
    return {
      params: textBehind('"params":', agent.inbox.lines[0]!),
      result: textBehind('"result":', world.editor.lines[0]!),
    };
  }

  test.each([
    ['{"protocolVersion":1}'],
    ['{"protocolVersion":1,"clientCapabilities":null}'],
    ['{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true}}}'],
  ])('I6 what the editor does not offer is not offered to the agent: %s', async (params) => {
    world = await World.start();

    expect(await initializeWith(params)).toMatchObject({ params });
  });

  test.each([[plainAgent], [{ protocolVersion: 1, agentCapabilities: null, authMethods: null }]])(
    'I6 what the agent does not offer is not offered to the editor: %j',
    async (agentHello) => {
      world = await World.start({ agentHello });

      expect(await initializeWith('{"protocolVersion":1}')).toMatchObject({
        result: JSON.stringify(agentHello),
      });
    },
  );

  test('I7 names, unknown keys and _meta of the editor reach every agent as they are', async () => {
    const params =
      '{ "protocolVersion":1,"clientInfo":{"name":"ed","version":"0","title":"é","n":1.0},' +
      '"clientCapabilities":{"_new":{"x":[1e2]},"_meta":{"a/b":18446744073709551615}},"_meta":{"t":"\\u00e9"},"z":0}';
    world = await World.start();

    const first = await initializeWith(params);
    const { agent } = await world.session(world.workspace('a'), 's1');

    expect(first.params).toBe(params);
    expect(textBehind('"params":', agent.inbox.lines[0]!)).toBe(params);
  });

  test('I7 names, unknown keys and _meta of the agent reach the editor as they are', async () => {
    const result =
      '{"protocolVersion":1 ,"agentInfo":{"name":"é","version":"0"},"agentCapabilities":{"_new":1.0,' +
      '"_meta":{"a":{"b":18446744073709551615}}},"authMethods":[{"id":"k","name":"\\u00e9"}],"_meta":{"z":{}}}';
    world = await World.start({ agentHello: false });
    const asked = world.ask('initialize', { protocolVersion: 1 });
    const agent = await world.agent();

    const { id } = await agent.inbox.next('initialize');
    agent.send(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}\n`);
    await world.editor.response(asked);

    expect(textBehind('"result":', world.editor.lines[0]!)).toBe(result);
  });

  test('I10 no agent is told of the editor’s terminals', async () => {
    const sent = (terminal: string): string =>
      `{"protocolVersion":1,"clientCapabilities":{"terminal":${terminal},"fs":{"readTextFile":true},` +
      `"auth":{"terminal":${terminal},"x":1},"_meta":{"terminal-auth":${terminal},"terminal_output":true}}}`;
    world = await World.start();

    const first = await initializeWith(sent('true'));
    const { agent } = await world.session(world.workspace('a'), 's1');

    expect(first.params).toBe(sent('false'));
    expect(textBehind('"params":', agent.inbox.lines[0]!)).toBe(sent('false'));
  });
});

describe('an agent that can do nothing that is optional', () => {
  beforeAll(async () => void (world = await World.initialized({ agentHello: plainAgent }, {})));
  afterAll(() => world.end());

  test('I8 an agent without any capability serves sessions', async () => {
    const { id, agent } = await openFresh(world);
    const prompt = world.ask('session/prompt', { sessionId: id, prompt: [{ type: 'text', text: 'hi' }] });
    const received = await agent.inbox.next('session/prompt');
    agent.say('s1', 'hello');
    world.send({ method: 'session/cancel', params: { sessionId: id } });
    expect(await agent.inbox.next('session/cancel')).toEqual({
      jsonrpc: '2.0',
      method: 'session/cancel',
      params: { sessionId: 's1' },
    });
    agent.send({ id: received.id, result: { stopReason: 'cancelled' } });

    expect(await world.editor.next('session/update')).toMatchObject({ params: { sessionId: id } });
    expect(await world.editor.response(prompt)).toMatchObject({ result: { stopReason: 'cancelled' } });
  });

  test('I9 text and resource links are taken in prompts whatever the agent offers', async () => {
    const { id, agent } = await openFresh(world);
    const prompt = [
      { type: 'text', text: 'see' },
      { type: 'resource_link', name: 'x', uri: 'file:///elsewhere/x.md' },
    ];

    const result = { stopReason: 'end_turn' };
    const params = { sessionId: id, prompt };
    const { request, response } = await exchange(world, agent, 'session/prompt', params, { result });

    expect(request.params).toEqual({ sessionId: 's1', prompt });
    expect(response.result).toEqual(result);
  });
});

describe('when a later agent can do less', () => {
  beforeAll(async () => {
    const agentHello = ({ cwd }: Puppet): Json => (cwd.endsWith('/own') ? fullAgent : plainAgent);
    world = await World.initialized({ agentHello });
  });
  afterAll(() => world.end());

  test('I11 it refuses what it lacks, and the others still serve it', async () => {
    const able = await world.session(world.workspace('own'), 's1');
    const unable = await openFresh(world);

    for (const method of ['session/fork', 'session/archive', 'session/set_title', 'session/status']) {
      const refused = await world.request(method, { sessionId: unable.id });
      const served = exchange(world, able.agent, method, { sessionId: able.id }, { error: teapot });

      expect(refused.error).toEqual(notOffered(method));
      await expect(served).resolves.toMatchObject({ response: { error: teapot } });
    }
    expect(await sentTo(world, unable.agent)).toEqual([]);
  });

  test.each(['session/load', 'session/resume', 'session/list', 'session/delete'])(
    'S8 I11 it is not sent %s',
    async (method) => {
      const { id, agent } = await openFresh(world);
      const params = { sessionId: id, cwd: agent.cwd, mcpServers: [] };

      expect((await world.request(method, params)).error).toEqual(notOffered(method));
      expect(await sentTo(world, agent)).toEqual([]);
    },
  );
});

const teapot = { code: 418, message: 'teapot' };

function notOffered(method: string): Json {
  return {
    code: -32601,
    message: `"Method not found": this agent does not offer ${method}`,
    data: { method },
  };
}

/** The text of the last member of a message's envelope, which begins with `key`. */
function textBehind(key: string, line: Buffer): string {
  const text = line.toString();
  return text.slice(text.indexOf(key) + key.length, -1);
}
