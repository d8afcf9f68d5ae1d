/** Statements J7 to J9, and N of `_meta` and of unknown values: what the proxy does not rewrite leaves it byte for byte. */
import { expectNothingLeft } from '../support/dialogue';
import { openWorld, type OpenSession } from '../support/turn';
import { nextLine, toAgent, toEditor } from '../support/verbatim';
import type { World } from '../support/world';

/** What `JSON.parse` and `JSON.stringify` would alter, or a reader that knows the schema would drop. */
const odd =
  '"n":[18446744073709551615,1.0,-0,1E+2,1e400,0.1000],"9":1,"1":2,"":null,"__proto__":{"a":[]},"dup":1,"dup":{} , "esc":"\\u0041\\/\\ud83d\\ude00","_meta":{"traceparent":"x","x.dev/y":{"sessionId":"s1","path":[null]}}';

/** Results of every shape. */
const results = [
  'null',
  '{}',
  '[]',
  '0',
  'false',
  '""',
  '{"stopReason":"end_turn"}',
  '{"stopReason":"_weird","usage":null,"messageId":""}',
  `{${odd}}`,
];

/** Errors of every shape. */
const errors = [
  '{"code":-32603,"message":""}',
  '{"code":-32000,"message":"Authentication required","data":null}',
  '{"code":12345,"message":"\\u0000","data":"text"}',
  '{"message":"first","code":-1,"data":[1.0,{"a":null}]}',
  `{"code":-32601,"message":"\\"Method not found\\": _ask","data":{"method":"_ask",${odd}}}`,
  '{"code":1,"message":"","data":{},"more":1.0}',
];

/** Messages of the agent that carry what is odd, wherever it may stand. */
const ofAgents = [
  [
    'an update of an unknown kind',
    `{${odd},"jsonrpc":"2.0","method":"session/update","params":{${odd},"sessionId":"SESSION","update":{"sessionUpdate":"_custom",${odd}}}}`,
  ],
  [
    'a chunk whose params stand first',
    `{"params":{"update":{"content":{"type":"_hologram","text":"/",${odd}},"sessionUpdate":"agent_message_chunk"},"sessionId":"SESSION"},"method":"session/update","jsonrpc":"2.0"}`,
  ],
  [
    'a tool call with everything in it',
    `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"tool_call","toolCallId":"","title":"","kind":"_k","status":"_s","content":[{"type":"content","content":{"type":"text","text":"","annotations":{"audience":null,${odd}}},${odd}},{"type":"_new",${odd}}],"locations":[{"path":"rel","line":1.0,${odd}}],"rawInput":{${odd}},"rawOutput":null}}}`,
  ],
  [
    'a plan',
    `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"plan","entries":[{"content":"","priority":"_p","status":"_s",${odd}}],${odd}}}}`,
  ],
  ['an extension', `{"jsonrpc":"2.0","method":"_x","params":{"sessionId":"SESSION",${odd}}}`],
];

/** Messages of the editor likewise. */
const ofEditor = [
  ['a cancel', `{${odd},"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"SESSION",${odd}}}`],
  [
    'a prompt whose params stand first',
    `{"params":{"prompt":[{"type":"text","text":"",${odd}},{"type":"resource","resource":{"uri":"zed://x","text":"",${odd}},${odd}},{"type":"_hologram",${odd}}],"sessionId":"SESSION"},"id":"p1","method":"session/prompt","jsonrpc":"2.0"}`,
  ],
  [
    'a choice of mode',
    `{"jsonrpc":"2.0","id":"p2","method":"session/set_mode","params":{"sessionId":"SESSION","modeId":"_m",${odd}}}`,
  ],
  [
    'a choice of an option',
    `{"jsonrpc":"2.0","id":"p3","method":"session/set_config_option","params":{"configId":"c","value":1.0,"sessionId":"SESSION"}}`,
  ],
  ['an extension', `{"jsonrpc":"2.0","id":"p4","method":"_x","params":{"sessionId":"SESSION",${odd}}}`],
];

describe('exactness', () => {
  let world: World;
  let session: OpenSession;
  beforeAll(async () => ({ world, session } = await openWorld({}, 'agents-session')));
  afterAll(() => world.end());
  afterEach(() => expectNothingLeft(world, session.agent));

  /** The editor asks; resolves with the line that the agent's answer with that member becomes. */
  async function answerToEditor(method: string, member: string): Promise<string> {
    const id = world.ask(method, { sessionId: session.id, cwd: world.workspace('own') });
    await session.agent.inbox.next(method);
    const line = await toEditor(world, session, `{"jsonrpc":"2.0","id":${id},${member}}`);
    return line.replace(`"id":${id},`, '');
  }

  /** The agent asks; resolves with the line that the editor's answer with that member becomes. */
  async function answerToAgent(method: string, params: object, member: string): Promise<string> {
    const { agent, agentId } = session;
    agent.send({ id: 'asked', method, params: { sessionId: agentId, ...params } });
    const { id } = await world.editor.next(method);
    const line = await toAgent(world, session, `{"jsonrpc":"2.0","id":${String(id)},${member}}`);
    return line.replace('"id":"asked",', '');
  }

  describe.each(results)('the result %s', (result) => {
    const member = `"result":${result}`;

    test.each(['session/prompt', 'session/set_mode', 'session/load', 'session/resume', '_ask'])(
      'J7 of %s reaches the editor as it is',
      async (method) => {
        expect(await answerToEditor(method, member)).toBe(`{"jsonrpc":"2.0",${member}}`);
      },
    );

    test.each([
      ['session/request_permission', {}],
      ['fs/write_text_file', { path: '/', content: '' }],
      ['elicitation/create', { mode: 'form' }],
      ['_ask', {}],
    ])('J7 of %s reaches the agent as it is', async (method, params) => {
      const path = `${session.agent.cwd}/file`;
      expect(await answerToAgent(method, { ...params, path }, member)).toBe(`{"jsonrpc":"2.0",${member}}`);
    });
  });

  test.each(errors)('J8 the error %s is the same for the editor and for the agent', async (error) => {
    const member = `"error":${error}`;

    expect(await answerToEditor('session/prompt', member)).toBe(`{"jsonrpc":"2.0",${member}}`);
    expect(await answerToEditor('_ask', member)).toBe(`{"jsonrpc":"2.0",${member}}`);
    expect(await answerToAgent('_ask', {}, member)).toBe(`{"jsonrpc":"2.0",${member}}`);
  });

  test.each([
    ['"refused"', '{"code":-32603,"message":"refused"}'],
    ['null', '{"code":-32603,"message":"no reason given"}'],
    ['[1]', '{"code":-32603,"message":"no reason given"}'],
    ['{"code":"E1","message":"m","data":{"a":1}}', '{"code":-32603,"message":"m","data":{"a":1}}'],
    ['{"code":1.5,"message":"m"}', '{"code":-32603,"message":"m"}'],
    ['{"code":4294967296,"message":"m"}', '{"code":-32603,"message":"m"}'],
    ['{"code":-32000.0,"message":"m"}', '{"code":-32000,"message":"m"}'],
    ['{"code":7,"message":{"a":1}}', '{"code":7,"message":"no reason given"}'],
  ])('J8 the error %s, which is none of JSON-RPC, reaches the editor as one', async (error, repaired) => {
    expect(await answerToEditor('session/prompt', `"error":${error}`)).toBe(
      `{"jsonrpc":"2.0","error":${repaired}}`,
    );
  });

  test('J8 the session in the data of an error is the one that the editor knows', async () => {
    const member = '"error":{"code":-32002,"message":"gone","data":{"sessionId":"SESSION","more":1.0}}';

    expect(await answerToEditor('session/prompt', member)).toBe(`{"jsonrpc":"2.0",${member}}`);
  });

  test('J8 what goes to all agents keeps the error of one that refuses', async () => {
    const id = world.ask('authenticate', { methodId: 'key' });
    const request = await session.agent.inbox.next('authenticate');
    session.agent.send(`{"jsonrpc":"2.0","id":${JSON.stringify(request.id)},"error":${errors[4]!}}\n`);

    expect(await nextLine(world.editor)).toBe(`{"jsonrpc":"2.0","id":${id},"error":${errors[4]!}}`);
  });

  test.each(ofAgents)('J9 N1 N6 the editor gets %s byte for byte', async (_, text) => {
    expect(await toEditor(world, session, text)).toBe(text);
  });

  test('J9 the editor gets a request of the agent byte for byte, but for its id', async () => {
    const text = `{"jsonrpc":"2.0","method":"session/request_permission","id":"asked","params":{"sessionId":"SESSION",${odd},"toolCall":{"toolCallId":"",${odd}},"options":[{"kind":"_k","optionId":"","name":""}]}}`;
    expect((await toEditor(world, session, text)).replace(/(?<="id":)\d+/, '"asked"')).toBe(text);
  });

  test.each(ofEditor)('J9 N1 N6 the agent gets %s byte for byte', async (_, text) => {
    expect(await toAgent(world, session, text)).toBe(text);
  });
});
