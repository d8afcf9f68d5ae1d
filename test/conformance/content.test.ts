/** Statements U and C: what an update holds arrives as it was said. */
import { sentBy, startCall } from '../support/dialogue';
import type { Json } from '../support/inbox';
import type { OpenSession } from '../support/turn';
import { toEditor } from '../support/verbatim';
import { World } from '../support/world';

const mount = '/home/agent/workspace';

describe('what an update holds', () => {
  let world: World;
  let root: string;
  let session: OpenSession;
  beforeAll(async () => {
    world = await World.initialized({ env: { CAI_ACP_WORKSPACE_MOUNT: mount } });
    root = world.workspace('own');
    session = await world.session(root, 's');
  });
  afterAll(() => world.end());

  /** Lets the agent send an update, given as JSON text, and expects the editor's, byte for byte. */
  async function expectPassed(update: string, expected = update): Promise<void> {
    const line = (text: string): string =>
      `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":${text}}}`;

    expect(await toEditor(world, session, line(update))).toBe(line(expected));
  }

  test.each([
    ['is null', '"oldText":null,'],
    ['is omitted', ''],
    ['is empty', '"oldText":"",'],
  ])('U4 a diff keeps that its old text %s, and its path is mapped', async (_, oldText) => {
    const diff = (path: string): string =>
      `{"sessionUpdate":"tool_call","toolCallId":"c","title":"Edit","content":[{"type":"diff",${oldText}` +
      `"newText":"a\\r\\n","path":"${path}"}],"locations":[{"line":7,"path":"${path}"},{"path":"${path}","line":null}]}`;

    await expectPassed(diff(`${mount}/a.ts`), diff(`${root}/a.ts`));
  });

  test('U4 J7 a tool call update keeps what is omitted and what is null', async () => {
    await expectPassed('{"sessionUpdate":"tool_call_update","toolCallId":"c"}');
    await expectPassed(
      '{"sessionUpdate":"tool_call_update","toolCallId":"c","title":null,"kind":null,"status":null,"content":null,"locations":null,"rawInput":null,"rawOutput":null,"_meta":null}',
    );
    await expectPassed('{"sessionUpdate":"tool_call_update","toolCallId":"c","content":[],"locations":[]}');
  });

  test('U7 a plan arrives complete', async () => {
    const entries = Array.from(
      { length: 200 },
      (_, n) => `{"content":"step ${n}","priority":"low","status":"pending","_meta":{"n":${n}.0}}`,
    );

    await expectPassed(`{"sessionUpdate":"plan","entries":[${entries.join(',')}]}`);
    await expectPassed('{"sessionUpdate":"plan","entries":[]}');
  });

  const options =
    '[{"id":"model","name":"Model","category":"model","type":"select","currentValue":"b","options":' +
    '[{"value":"b","name":"B"},{"value":"a","name":"A","description":null}]},' +
    '{"type":"boolean","currentValue":false,"id":"10","name":"Ten"},' +
    '{"type":"_slider","currentValue":1e2,"id":"2","name":"Two"}]';

  test('U7 config options of an update keep order and current values', async () => {
    await expectPassed(`{"sessionUpdate":"config_option_update","configOptions":${options}}`);
  });

  test('U7 config options and modes of a result keep order and current values', async () => {
    const received = await startCall(world, session.agent, 'session/set_config_option', {
      sessionId: session.id,
      configId: 'model',
      value: 'b',
    });
    const line = (answered: unknown): string =>
      `{"jsonrpc":"2.0","id":${String(answered)},"result":{"configOptions":${options},"modes":{"currentModeId":"z","availableModes":[{"id":"z","name":"Z"},{"id":"a","name":"A"}]}}}`;

    session.agent.send(`${line(received.received.id)}\n`);
    await world.editor.response(received.id);

    expect(received.received.params).toEqual({ sessionId: 's', configId: 'model', value: 'b' });
    expect(String(world.editor.lines.at(-1))).toBe(line(received.id));
  });

  test.each([
    [
      'update',
      `{"sessionUpdate":"_hologram","path":"${mount}/a","content":{"type":"image","uri":"file://${mount}/a"}}`,
    ],
    ['update without an underscore', `{"sessionUpdate":"future","path":"${mount}/a"}`],
    ['update without a kind', `{"content":{"type":"text","text":"${mount}"}}`],
    ['update whose kind is no string', `{"sessionUpdate":7,"locations":[{"path":"${mount}/a"}]}`],
    [
      'content',
      `{"sessionUpdate":"agent_message_chunk","content":{"type":"_3d","uri":"file://${mount}/a","n":1.0}}`,
    ],
    [
      'tool content',
      `{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","kind":"_kind","status":"_status","content":[{"type":"_x","path":"${mount}/a"},7,null]}`,
    ],
    [
      'config option',
      '{"sessionUpdate":"config_option_update","configOptions":[{"type":"_x","id":"i","currentValue":{"a":[1.0]}}]}',
    ],
    [
      'command',
      '{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"n","description":"","input":{"type":"_form","x":1e400}}]}',
    ],
    [
      'plan',
      `{"sessionUpdate":"plan_update","plan":{"type":"_graph","planId":"p","uri":"file://${mount}/a"}}`,
    ],
  ])('U8 N6 an unknown variant of %s passes as it is', async (_, update) => {
    await expectPassed(update);
  });

  test('C7 what a terminal of the agent shows passes in place and in order', async () => {
    const update = (meta: Json): Json => ({
      sessionUpdate: 'tool_call_update',
      toolCallId: 'c',
      content: [{ type: 'terminal', terminalId: 't-1' }],
      _meta: meta,
    });
    const output = (data: string): Json => update({ terminal_output: { terminal_id: 't-1', data } });
    const between = [
      output(`\u001b[31m${mount}\r\n`),
      output(''),
      { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'meanwhile' } },
      output('ä\u0000'),
      update({ terminal_exit: { terminal_id: 't-1', exit_code: 0, signal: null } }),
    ];
    const info = (cwd: string): Json => update({ terminal_info: { terminal_id: 't-1', cwd } });

    for (const each of [info(`${mount}/src`), ...between]) session.agent.update('s', each);
    const received = await sentBy(world, session.agent);

    expect(received.map(({ params }) => (params as Json).update)).toEqual([info(`${root}/src`), ...between]);
  });
});
