/** Statements T2 to T8: lines, chunks, and lines that are no messages. */
import { expectNothingLeft, sentBy, sentTo } from '../support/dialogue';
import { failure, success } from '../support/messages';
import { openWorld, type OpenSession } from '../support/turn';
import { toAgent, toEditor } from '../support/verbatim';
import type { World } from '../support/world';

/** Lines that are no JSON in UTF-8. */
const notJson = [
  ['a word', 'hello'],
  ['JSON that is cut off', '{"jsonrpc":"2.0","id":1'],
  ['two values', '{"jsonrpc":"2.0","method":"_a"}{"jsonrpc":"2.0","method":"_b"}'],
  ['a trailing comma', '{"jsonrpc":"2.0","method":"_a",}'],
  ['a raw control character in a string', '{"jsonrpc":"2.0","method":"_a\t"}'],
  ['bytes that are no UTF-8', Buffer.from('{"jsonrpc":"2.0","method":"_\xff"}', 'latin1')],
] as const;

/** Lines that are JSON and no messages. */
const noMessages = [
  ['a number', '42'],
  ['null', 'null'],
  ['an empty object', '{}'],
  ['a message of another version', '{"jsonrpc":"1.0","method":"_a"}'],
  ['a message without a version', '{"method":"_a"}'],
  ['an id that is an object', '{"jsonrpc":"2.0","id":{},"method":"_a"}'],
  ['a method that is a number', '{"jsonrpc":"2.0","method":1}'],
  ['a response without an id', '{"jsonrpc":"2.0","result":{}}'],
] as const;

/** A batch. */
const batch = '[{"jsonrpc":"2.0","id":1,"method":"session/prompt"},{"jsonrpc":"2.0","method":"_a"}]';

/** Agents may write it before a message. */
const marked = ['a byte order mark', '\ufeff{"jsonrpc":"2.0","method":"_a"}'] as const;

const defects = [...notJson, ...noMessages, ['a batch', batch]] as const;

/** A notification whose text is in two, three and four bytes a character. */
const foreign = '{"jsonrpc":"2.0","method":"_x","params":{"sessionId":"SESSION","t":"é€😀"}}';

/** What JSON may hold in a string, and some readers take for a line end or for no character at all. */
const strange =
  '{"jsonrpc":"2.0","method":"_x","params":{"sessionId":"SESSION","t":"\u2028\u2029\u0085\\n\\r\\u0000\\u000a\\ud800 \\udc00\u007f"}}';

describe('framing', () => {
  let world: World;
  let session: OpenSession;
  beforeAll(async () => ({ world, session } = await openWorld({}, 'agents-session')));
  afterAll(() => world.end());
  // Nothing of one test is left for the next.
  afterEach(() => expectNothingLeft(world, session.agent));

  test.each([...defects, marked])(
    'T2 nothing reaches the agent when the editor sends %s',
    async (_, line) => {
      world.send(Buffer.concat([Buffer.from(line), Buffer.from('\n')]));

      const lines = session.agent.inbox.lines.length;
      expect(await sentTo(world, session.agent)).toEqual([]);
      expect(session.agent.inbox.lines).toHaveLength(lines + 1);
      expect(await world.editor.next((message) => message.id === null)).toHaveProperty('error');
    },
  );

  test.each(defects)('T3 the editor sees nothing of it when the agent prints %s', async (_, line) => {
    session.agent.send(Buffer.concat([Buffer.from(line), Buffer.from('\n')]));

    const lines = world.editor.lines.length;
    expect(await sentBy(world, session.agent)).toEqual([]);
    expect(world.editor.lines).toHaveLength(lines + 1);
    expect(await sentTo(world, session.agent)).toEqual([]);
  });

  test('T3 pretty-printed JSON, warnings and a log that quotes a message are not forwarded', async () => {
    const pretty = JSON.stringify({ jsonrpc: '2.0', method: '_a', params: { a: [1] } }, undefined, 2);
    session.agent.send(`npm warn deprecated\n\u001b[31mred\u001b[0m\n${pretty}\n`);
    session.agent.send('sent {"jsonrpc":"2.0","method":"_a"}\n');

    expect(await sentBy(world, session.agent)).toEqual([]);
    expect(await sentTo(world, session.agent)).toEqual([]);
  });

  test('T4 line separators, escaped control characters and lone surrogates survive', async () => {
    expect(await toEditor(world, session, strange)).toBe(strange);
    expect(await toAgent(world, session, strange)).toBe(strange);
  });

  test('T4 white space and line ends that a message has besides its own are not forwarded as lines', async () => {
    const spaced = '{ "jsonrpc" :\t"2.0", "method":"_x", "params":{"sessionId":"SESSION"} }  ';

    expect(await toEditor(world, session, `\t${spaced}\r`)).toBe(`\t${spaced}`);
    expect(await toAgent(world, session, `\t${spaced}\r`)).toBe(`\t${spaced}`);
  });

  test('T5 a message of the editor that is cut within a character and before its line end arrives intact', async () => {
    for (const at of cuts(foreign)) {
      const line = Buffer.from(`${foreign.replace('SESSION', session.id)}\r\n`);
      const cut = line.length - at;
      world.send(line.subarray(0, cut));
      // Two round trips: the first half was there to be read before the second of them began.
      for (let i = 0; i < 2; i++) expect(await sentBy(world, session.agent)).toEqual([]);
      world.send(line.subarray(cut));

      await session.agent.inbox.next('_x');
      expect(String(session.agent.inbox.lines.at(-1))).toBe(foreign.replace('SESSION', session.agentId));
    }
  });

  test('T5 a message of the agent that is cut within a character and before its line end arrives intact', async () => {
    const other = await world.session(world.workspace('other'), 'other-session');
    for (const at of cuts(foreign)) {
      const line = Buffer.from(`${foreign.replace('SESSION', session.agentId)}\r\n`);
      const cut = line.length - at;
      session.agent.send(line.subarray(0, cut));
      await session.agent.done();
      for (let i = 0; i < 2; i++) expect(await sentBy(world, other.agent)).toEqual([]);
      session.agent.send(line.subarray(cut));

      await world.editor.next('_x');
      expect(String(world.editor.lines.at(-1))).toBe(foreign.replace('SESSION', session.id));
    }
  });

  test('T6 several messages in one chunk arrive one by one, in order', async () => {
    const lines = (id: string) =>
      [1, 2, 3].map((n) => `{"jsonrpc":"2.0","method":"_${n}","params":{"sessionId":"${id}"}}`);
    world.send(`${lines(session.id).join('\n')}\n`);
    session.agent.send(`${lines(session.agentId).join('\r\n')}\r\n`);

    expect((await sentTo(world, session.agent)).map((m) => m.method)).toEqual(['_1', '_2', '_3']);
    expect((await sentBy(world, session.agent)).map((m) => m.method)).toEqual(['_1', '_2', '_3']);
  });

  test('T6 one message in as many chunks as it has bytes arrives once', async () => {
    for (const byte of Buffer.from(`${foreign.replace('SESSION', session.id)}\n`))
      world.send(Buffer.of(byte));
    for (const byte of Buffer.from(`${foreign.replace('SESSION', session.agentId)}\n`))
      session.agent.send(Buffer.of(byte));

    expect(await sentTo(world, session.agent)).toHaveLength(1);
    expect(await sentBy(world, session.agent)).toHaveLength(1);
  });

  test('T6 blank lines mean nothing', async () => {
    world.send('\n\r\n   \n\t\r\n');
    session.agent.send('\n\r\n   \n\t\r\n');

    expect(await sentTo(world, session.agent)).toEqual([]);
    expect(await sentBy(world, session.agent)).toEqual([]);
  });

  test('T7 a batch gets one -32600 with id null', async () => {
    world.send(`${batch}\n`);

    expect(await world.editor.next(() => true)).toEqual(failure(null, -32600));
  });

  test.each(notJson)(
    'T8 %s from the editor gets -32700 with id null, and the next line works',
    async (_, line) => {
      world.send(Buffer.concat([Buffer.from(line), Buffer.from('\n')]));
      const id = world.ask('_next', { sessionId: session.id });
      await session.agent.answer('_next');

      expect(await world.editor.next(() => true)).toEqual(failure(null, -32700));
      expect(await world.editor.next(() => true)).toEqual(success(id, {}));
    },
  );

  test.each(noMessages)('T8 %s from the editor gets -32600 with id null', async (_, line) => {
    world.send(`${line}\n`);

    expect(await world.editor.next(() => true)).toEqual(failure(null, -32600));
  });
});

/** Where to cut a line: before each of its last bytes down to the first that is not ASCII, from behind. */
function cuts(text: string): number[] {
  const last = Buffer.byteLength(text) + 2 - Buffer.from(text).findIndex((byte) => byte > 127);
  return Array.from({ length: last - 1 }, (_, index) => index + 1);
}
