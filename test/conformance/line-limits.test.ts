/** Statement T10 and the rules for over-long lines. */
import { exchange, expectNothingLeft, sentBy, startCall } from '../support/dialogue';
import { failure, success } from '../support/messages';
import type { Puppet } from '../support/puppet';
import { openWorld, type OpenSession } from '../support/turn';
import { toAgent } from '../support/verbatim';
import { World } from '../support/world';

const mib = 2 ** 20;
/** The smallest limits there are. */
const smallLimits = '[acp]\nmax_line_from_editor = "1MiB"\nmax_line_to_editor = "1MiB"';
const filler = 'x'.repeat(mib);

/** A message with a text that makes its line, without the line end, that long. */
function lineOf(bytes: number, text: (filler: string) => string): string {
  return text('x'.repeat(bytes - text('').length));
}

/** Writes bytes to an agent's stdout in orders of a size that its socket likes. */
function sendLong(agent: Puppet, text: string): void {
  for (let at = 0; at < text.length; at += 48 * 1024) agent.send(text.slice(at, at + 48 * 1024));
}

describe('long lines', () => {
  let world: World;
  afterEach(() => world.end());

  test('T10 a message of 20 MiB passes to the agent and back', async () => {
    world = await World.initialized();
    const { id, agentId, agent } = await world.session(world.workspace('own'), 'agents-session');
    const text = (x: string) => `{"jsonrpc":"2.0","method":"_x","params":{"t":"${x}","sessionId":"SESSION"}}`;
    const long = lineOf(20 * mib, text);

    world.send(`${long.replace('SESSION', id)}\n`);
    await agent.inbox.next('_x');
    sendLong(agent, `${long.replace('SESSION', agentId)}\n`);
    await world.editor.next('_x');

    // No toBe: a difference of two such strings is nothing to read.
    expect(String(agent.inbox.lines.at(-1)) === long.replace('SESSION', agentId)).toBe(true);
    expect(String(world.editor.lines.at(-1)) === long.replace('SESSION', id)).toBe(true);
  });
});

describe('over-long lines', () => {
  let world: World;
  let session: OpenSession;
  beforeAll(async () => ({ world, session } = await openWorld({ config: smallLimits }, 'agents-session')));
  afterAll(() => world.end());
  afterEach(() => expectNothingLeft(world, session.agent));

  test('T10 a line as long as the limit passes', async () => {
    const text = (x: string) => `{"jsonrpc":"2.0","method":"_x","params":{"t":"${x}"}}`;
    const longest = lineOf(mib, text);

    expect((await toAgent(world, session, longest)) === longest).toBe(true);
    sendLong(session.agent, `${longest}\n`);
    await world.editor.next('_x');
    expect(String(world.editor.lines.at(-1)) === longest).toBe(true);
  });

  test('D1 a request of the editor with one byte too many is answered -32600 under its id', async () => {
    world.send(`${lineOf(mib + 1, (x) => `{"jsonrpc":"2.0","id":"long","method":"_x","params":"${x}"}`)}\n`);

    const answer = await world.editor.response('long');
    expect(answer).toEqual(failure('long', -32600));
    expect(answer).toHaveProperty(
      'error.message',
      expect.stringMatching(/1\.1 MiB.+ 1 MiB.+max_line_from_editor/),
    );
  });

  test.each([
    ['before its params', (x: string) => `{"id":901,"jsonrpc":"2.0","method":"_x","params":"${x}"}`, 901],
    ['after its params', (x: string) => `{"method":"_x","params":"${x}","jsonrpc":"2.0","id":902}`, 902],
    [
      'besides others within',
      (x: string) => `{"params":{"id":1,"a":[{"id":2}],"t":"${x}"},"method":"_x","id":903}`,
      903,
    ],
    [
      'behind what looks like it',
      (x: string) => `{"params":"\\"id\\":1,\\"${x}","method":"_x","id":"\\u0041"}`,
      'A',
    ],
    ['that is null', (x: string) => `{"id":null,"method":"_x","params":"${x}"}`, null],
  ])('D1 the id of an over-long request of the editor is found %s', async (_, text, id) => {
    world.send(`${text(filler)}\n`);

    expect(await world.editor.response(id)).toEqual(failure(id, -32600));
  });

  test('D1 an over-long notification of the editor is not answered', async () => {
    world.send(`{"jsonrpc":"2.0","method":"_x","params":{"sessionId":"${session.id}","t":"${filler}"}}\n`);

    expect(await sentBy(world, session.agent)).toEqual([]);
  });

  test('D1 an over-long line of the editor that is no message is answered with id null', async () => {
    world.send(`${filler}xx\n`);

    expect(await world.editor.next(() => true)).toEqual(failure(null, -32600));
  });

  test('D1 an over-long answer of the editor becomes -32603 for the agent that asked', async () => {
    session.agent.send({ id: 'asked', method: '_ask', params: { sessionId: session.agentId } });
    const { id } = await world.editor.next('_ask');
    world.send(`{"jsonrpc":"2.0","id":${String(id)},"result":"${filler}"}\n`);

    expect(await session.agent.inbox.next(() => true)).toEqual(failure('asked', -32603));
  });

  test('D1 an over-long answer of the agent becomes -32603 for the editor, and others go on', async () => {
    const call = await startCall(world, session.agent, '_ask', { sessionId: session.id });
    sendLong(session.agent, `{"jsonrpc":"2.0","id":${String(call.received.id)},"result":"${filler}"}\n`);

    expect(await world.editor.response(call.id)).toEqual(failure(call.id, -32603));
    const { response } = await exchange(
      world,
      session.agent,
      '_ask',
      { sessionId: session.id },
      { result: 1 },
    );
    expect(response).toEqual(success(response.id, 1));
  });

  test('D1 an over-long request of the agent is answered -32600', async () => {
    sendLong(session.agent, `{"jsonrpc":"2.0","id":"asked","method":"_ask","params":"${filler}"}\n`);

    expect(await session.agent.inbox.next(() => true)).toEqual(failure('asked', -32600));
  });

  test('D1 an over-long answer of the agent fails its request though its id comes last', async () => {
    const call = await startCall(world, session.agent, '_ask', { sessionId: session.id });
    sendLong(session.agent, `{"jsonrpc":"2.0","result":"${filler}","id":${String(call.received.id)}}\n`);

    const message = expect.stringMatching(
      /the line has 1\.1 MiB, more than the 1 MiB of acp\.max_line_to_editor: /,
    ) as string;
    const answer = await world.editor.response(call.id);
    expect(answer).toEqual(failure(call.id, -32603));
    expect(answer).toHaveProperty('error.message', message);
  });

  test('D1 an over-long notification of the agent is left out, and its thread says so', async () => {
    const { id: sessionId, agentId, agent } = session;
    const prompt = await startCall(world, agent, 'session/prompt', { sessionId, prompt: [] });
    const text = `"sessionId":"${agentId}","update":{"sessionUpdate":"x","text":"${filler}"}`;
    sendLong(agent, `{"jsonrpc":"2.0","method":"session/update","params":{${text}}}\n`);

    const { params } = await world.editor.next('session/update');
    expect(params).toMatchObject({ sessionId, _meta: { containai: true } });
    expect(JSON.stringify(params)).toContain('has 1.1 MiB, more than the 1 MiB of acp.max_line_to_editor');
    agent.say(agentId, 'more');
    await world.editor.next('session/update');
    expect(await prompt.end({ result: { stopReason: 'end_turn' } })).toHaveProperty('result');
  });

  test('D1 one that tells the past while a session is loaded costs neither that nor the turn of another', async () => {
    const { id: sessionId, agent } = session;
    const prompt = await startCall(world, agent, 'session/prompt', { sessionId, prompt: [] });
    const params = { sessionId: 'past', cwd: agent.cwd, mcpServers: [] };
    const load = await startCall(world, agent, 'session/load', params);
    const text = `"sessionId":"past","update":{"sessionUpdate":"x","text":"${filler}"}`;
    sendLong(agent, `{"jsonrpc":"2.0","method":"session/update","params":{${text}}}\n`);

    expect(await load.end({ result: {} })).toHaveProperty('result');
    expect(await prompt.end({ result: { stopReason: 'end_turn' } })).toHaveProperty('result');
    world.editor.takeAll();
  });

  test('D1 an over-long line of the agent that is no message is dropped', async () => {
    sendLong(session.agent, `${filler}xx\n`);

    expect(await sentBy(world, session.agent)).toEqual([]);
  });
});
