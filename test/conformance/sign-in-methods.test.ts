/** Statements A: the ways to sign in that an agent offers, as the editor gets them. */
import { nextLine } from '../support/verbatim';
import { fullEditor, World } from '../support/world';

const terminal = '{"id":"tty","name":"Terminal","type":"terminal","args":["--login"],"env":{"A":"b"}}';
const key = '{"id":"key","name":"Key","type":"env_var","vars":[{"name":"KEY"}]}';
const unknown =
  '{ "id":"new","type":"_hologram","n":18446744073709551615,"f":1.0,"s":"\\u00e9","_meta":{"x":[ ]}}';

describe('the ways to sign in', () => {
  let world: World;
  afterEach(() => world.end());

  /** What the editor gets, without the jsonrpc and id, when the agent offers these. */
  async function offered(methods: string, clientCapabilities: unknown = {}): Promise<string> {
    world = await World.start({ agentHello: false });
    const id = world.ask('initialize', { protocolVersion: 1, clientCapabilities });
    const agent = await world.agent();
    const request = await agent.inbox.next('initialize');
    const result = `{"protocolVersion":1,"authMethods":${methods},"z":1.0}`;
    agent.send(`{"jsonrpc":"2.0","id":${JSON.stringify(request.id)},"result":${result}}\n`);
    const [, text] = (await nextLine(world.editor)).split(`{"jsonrpc":"2.0","id":${id},"result":`);
    return text!;
  }

  test.each([[fullEditor], [{ auth: { terminal: false } }]])(
    'A4 those that run in a terminal are not offered to an editor with %j',
    async (clientCapabilities) => {
      const text = await offered(`[${terminal},${key}]`, clientCapabilities);

      expect(text).toBe(`{"protocolVersion":1,"authMethods":[${key}],"z":1.0}}`);
    },
  );

  test('A4 those that run in a terminal are not offered while the proxy has no way to run them', async () => {
    const text = await offered(`[${key},${terminal}]`, { auth: { terminal: true } });

    expect(text).toBe(`{"protocolVersion":1,"authMethods":[${key}],"z":1.0}}`);
  });

  test('A4 where all run in a terminal, an empty list is left', async () => {
    const escaped = '{"id":"b","type":"t\\u0065rminal"}';

    expect(await offered(`[ ${terminal},${escaped} ]`)).toBe(
      '{"protocolVersion":1,"authMethods":[],"z":1.0}}',
    );
  });

  test.each([
    ['{"id":"a","type":"terminal","type":"env_var"}'],
    ['{"id":"a","_meta":{"terminal-auth":{"command":"x"}},"_meta":{}}'],
  ])('A4 A7 none is offered where one is hidden from some readers: %s', async (method) => {
    expect(await offered(`[${key},${method}]`)).toBe('{"protocolVersion":1,"authMethods":[],"z":1.0}}');
  });

  test('A7 no command is offered that an editor would run', async () => {
    const meta = '{"terminal-auth":{"command":"/usr/bin/node","args":["x"]},"a":1.0}';
    const escaped = '{"a":1.0,"terminal-aut\\u0068":null}';
    const left = '{"a":1.0}';
    const method = (_meta: string): string => `{"id":"k","name":"K","_meta":${_meta},"n":1.0}`;

    const text = await offered(`[${method(meta)},${method(escaped)},${unknown}]`, {
      _meta: { 'terminal-auth': true },
    });

    const rest = JSON.parse(method(left)) as unknown;
    expect(JSON.parse(text.slice(0, -1))).toHaveProperty('authMethods', [rest, rest, JSON.parse(unknown)]);
    expect(text).toContain(`,${unknown}]`);
  });

  test('A4 A7 a demand to sign in offers none of them either', async () => {
    world = await World.initialized();
    const agent = await world.agent();
    const id = world.ask('session/new', { cwd: world.workspace('own'), mcpServers: [] });
    const request = await agent.inbox.next('session/new');
    const answer = (methods: string): string =>
      `{"jsonrpc":"2.0","id":${id},"error":{"code":-32000,"message":"Sign in","data":{"authMethods":[${methods}],"n":1.0}}}`;

    expect(request.id).toBe(id);
    agent.send(`${answer(`${unknown},${terminal},${key}`)}\n`);
    await world.editor.response(id);

    expect(world.editor.lines.at(-1)!.toString()).toBe(answer(`${unknown},${key}`));
  });

  test('A8 unknown ways pass as they are', async () => {
    expect(await offered(`[${unknown} , ${key}]`)).toBe(
      `{"protocolVersion":1,"authMethods":[${unknown} , ${key}],"z":1.0}}`,
    );
  });

  test('A8 unknown ways pass as they are beside one that is not offered', async () => {
    expect(await offered(`[${unknown},${terminal},${key}]`)).toBe(
      `{"protocolVersion":1,"authMethods":[${unknown},${key}],"z":1.0}}`,
    );
  });
});
