/** The rule for keys that stand twice: what two parsers could read differently is not passed on. */
import { expectNothingLeft, sentBy } from '../support/dialogue';
import { failure } from '../support/messages';
import type { OpenSession } from '../support/turn';
import { toAgent, toEditor } from '../support/verbatim';
import { World } from '../support/world';

describe('a key that stands twice', () => {
  let world: World;
  let session: OpenSession;
  let other: OpenSession;
  beforeAll(async () => {
    world = await World.initialized();
    session = await world.session(world.workspace('own'), 'agents-session');
    other = await world.session(world.workspace('own'), 'other-session', session.agent);
  });
  afterAll(() => world.end());
  afterEach(() => expectNothingLeft(world, session.agent));

  /** Sends the agent's line, with `SESSION` and `OTHER` for its two sessions. */
  function says(text: string): void {
    session.agent.send(`${text.replaceAll('SESSION', session.agentId).replaceAll('OTHER', other.agentId)}\n`);
  }

  test.each([
    ['method', '{"jsonrpc":"2.0","method":"_a","method":"_b"}'],
    ['method, once escaped', '{"jsonrpc":"2.0","method":"_a","meth\\u006fd":"_b"}'],
    ['params', '{"jsonrpc":"2.0","method":"_a","params":{},"params":{}}'],
    ['jsonrpc', '{"jsonrpc":"2.0","jsonrpc":"2.0","method":"_a"}'],
    [
      'sessionId',
      '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","sessionId":"OTHER","update":{}}}',
    ],
    [
      'sessionId, once escaped',
      '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","\\u0073essionId":"OTHER","update":{}}}',
    ],
    [
      'sessionId of an extension',
      '{"jsonrpc":"2.0","method":"_a","params":{"sessionId":"SESSION","sessionId":"OTHER"}}',
    ],
    [
      'update',
      '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{},"update":{}}}',
    ],
    [
      'sessionUpdate',
      '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"plan","sessionUpdate":"tool_call"}}}',
    ],
    [
      'path of a location',
      '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"tool_call","locations":[{"path":"/a","path":"/b"}]}}}',
    ],
  ])('D1 a notification of the agent with two of %s is dropped', async (_, text) => {
    says(text);

    expect(await sentBy(world, session.agent)).toEqual([]);
  });

  test.each([
    [
      'path',
      '{"jsonrpc":"2.0","id":"r","method":"fs/read_text_file","params":{"sessionId":"SESSION","path":"/etc/passwd","path":"/a"}}',
    ],
    [
      'path, once escaped',
      '{"jsonrpc":"2.0","id":"r","method":"fs/read_text_file","params":{"sessionId":"SESSION","path":"/a","pat\\u0068":"/b"}}',
    ],
    [
      'sessionId',
      '{"jsonrpc":"2.0","id":"r","method":"session/request_permission","params":{"sessionId":"SESSION","sessionId":"OTHER"}}',
    ],
    ['method', '{"jsonrpc":"2.0","id":"r","method":"_a","method":"terminal/create"}'],
    ['id', '{"jsonrpc":"2.0","id":"q","method":"_a","id":"r"}'],
    [
      'params that come first',
      '{"params":{"sessionId":"SESSION","path":"/a","path":"/b"},"jsonrpc":"2.0","id":"r","method":"fs/read_text_file"}',
    ],
  ])('D1 a request of the agent with two of %s is answered -32600', async (_, text) => {
    says(text);

    expect(await session.agent.inbox.next(() => true)).toEqual(failure('r', -32600));
  });

  test.each([
    ['result', '"result":{},"result":{"stopReason":"end_turn"}'],
    ['id', '"id":0,"result":{}'],
    ['error', '"error":{"code":1,"message":""},"error":{"code":2,"message":""}'],
    ['data of the error', '"error":{"code":1,"message":"","data":1,"data":2}'],
    ['result, and has an error besides', '"result":{},"error":{"code":1,"message":""}'],
  ])('D1 an answer of the agent with two of %s becomes -32603', async (_, members) => {
    const id = world.ask('session/prompt', { sessionId: session.id, prompt: [] });
    const request = await session.agent.inbox.next('session/prompt');
    // The id that counts is the last, for whom the proxy cannot tell otherwise.
    session.agent.send(`{"jsonrpc":"2.0",${members},"id":${String(request.id)}}\n`);

    expect(await world.editor.response(id)).toEqual(failure(id, -32603));
  });

  test('D1 a key that is written with escapes is the one that it stands for', async () => {
    const text = '{"jsonrpc":"2.0","m\\u0065thod":"_a","params":{"session\\u0049d":"SESSION"}}';

    expect(await toEditor(world, session, text)).toBe(text);
    expect(await toAgent(world, session, text)).toBe(text);
  });

  test('D1 a request of the editor with two of sessionId is answered -32600', async () => {
    world.send(
      `{"jsonrpc":"2.0","id":"r","method":"session/prompt","params":{"sessionId":"${session.id}","sessionId":"${other.id}"}}\n`,
    );

    expect(await world.editor.next(() => true)).toEqual(failure('r', -32600));
  });

  test.each([
    ['in the envelope', '{"jsonrpc":"2.0","x":1,"x":2,"method":"_a","params":{"sessionId":"SESSION"}}'],
    [
      'in what an extension has',
      '{"jsonrpc":"2.0","method":"_a","params":{"sessionId":"SESSION","x":1,"x":2}}',
    ],
    [
      'in _meta',
      '{"jsonrpc":"2.0","method":"_a","params":{"sessionId":"SESSION","_meta":{"sessionId":1,"sessionId":2}}}',
    ],
  ])('J9 two of a key that is nothing to the proxy pass, %s', async (_, text) => {
    expect(await toEditor(world, session, text)).toBe(text);
    expect(await toAgent(world, session, text)).toBe(text);
  });
});
