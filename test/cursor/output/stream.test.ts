import { Stream } from '../../../src/cursor/output/stream';
import { Todos } from '../../../src/cursor/output/todos';

const piece = (text: string): string => assistant(text, { timestamp_ms: 1 });
const assistant = (text: string, fields: object = {}): string =>
  JSON.stringify({ type: 'assistant', message: { content: [{ type: 'text', text }] }, ...fields });
const tool = (subtype: string, fields: object = {}): string =>
  JSON.stringify({ type: 'tool_call', subtype, call_id: 'c', tool_call: { readToolCall: {} }, ...fields });

function told(lines: readonly string[]): string[] {
  const stream = new Stream('/work', new Todos());
  return lines
    .flatMap((line) => stream.take(line))
    .map((update) =>
      'content' in update && update.content && 'text' in update.content ? update.content.text : '-',
    );
}

test.each<[string, string[], string[]]>([
  ['pieces, and then all of them', [piece('a'), piece('b'), assistant('ab')], ['a', 'b']],
  ['equal pieces', [piece('ha'), piece('ha'), assistant('haha')], ['ha', 'ha']],
  ['no pieces', [assistant('ab')], ['ab']],
  [
    'pieces that are repeated before a tool',
    [piece('a'), assistant('a', { timestamp_ms: 2, model_call_id: 'm' })],
    ['a'],
  ],
  [
    'the same words before and after a tool',
    [piece('a'), tool('started'), piece('a'), assistant('a')],
    ['a', '-', '-', 'a'],
  ],
  [
    'the whole turn in the end',
    [piece('a'), tool('started'), piece('b'), assistant('ab')],
    ['a', '-', '-', 'b'],
  ],
  ['a piece that was lost', [piece('a'), assistant('abc')], ['a', 'bc']],
  ['only a result', ['{"type":"result","result":"all"}'], ['all']],
  ['text and a result', [piece('a'), '{"type":"result","result":"a"}'], ['a']],
])('text comes once, with %s', (_what, lines, texts) => {
  expect(told(lines)).toEqual(texts);
});

test('what is no JSON is kept as words, up to a limit, and is no output', () => {
  const stream = new Stream('/work', new Todos());

  for (const line of ['x'.repeat(5_000), '', 'Error: no']) expect(stream.take(line)).toEqual([]);

  expect([stream.hasOutput, stream.words.length]).toEqual([false, 4_000]);
  expect(stream.words).toMatch(/Error: no$/);
  stream.take('{"type":"error","message":"worse"}');
  expect(stream.words).toBe('worse');
  stream.take('{"type":"system","session_id":"s"}');
  expect([stream.hasOutput, stream.chatId]).toEqual([false, 's']);
  stream.take(piece('a'));
  expect(stream.hasOutput).toBe(true);
});

test('a call that is started twice is told once, and its time is measured where Cursor does not say', () => {
  let nowMs = 1_000;
  const stream = new Stream('/work', new Todos(), () => nowMs);
  expect(stream.take(tool('started'))).toMatchObject([{ status: 'pending' }, { status: 'in_progress' }]);
  expect(stream.take(tool('started'))).toEqual([]);
  nowMs = 1_250;

  const ended = stream.take(tool('completed', { tool_call: { readToolCall: { result: { success: {} } } } }));

  expect(ended).toMatchObject([
    { status: 'completed', _meta: { cursor: { startTime: 1_000, endTime: 1_250, durationMs: 250 } } },
  ]);
  expect(stream.close()).toEqual([]);
  expect(stream.toolCalls).toBe(1);
});

test('a call may end before it begins, and end twice', () => {
  const stream = new Stream('/work', new Todos(), () => 5);
  const result = { success: { path: '/work/a' } };
  const end = tool('completed', { tool_call: { readToolCall: { args: { path: 'a' }, result } } });

  expect(stream.take(end)).toMatchObject([
    { sessionUpdate: 'tool_call', toolCallId: 'c', status: 'completed', rawOutput: result },
  ]);
  expect(stream.take(tool('started'))).toEqual([]);
  expect(stream.take(end)).toMatchObject([{ sessionUpdate: 'tool_call_update', status: 'completed' }]);
  expect([stream.close(), stream.toolCalls]).toEqual([[], 1]);
});

test('calls without ids are told apart, and each end belongs to the oldest of its tool', () => {
  const stream = new Stream('/work', new Todos());
  const line = (subtype: string, name: string, call: object) =>
    JSON.stringify({ type: 'tool_call', subtype, tool_call: { [name]: call } });
  const ids = (lines: readonly string[]) =>
    lines.flatMap((each) =>
      stream.take(each).map((update) => ('toolCallId' in update ? update.toolCallId : '')),
    );

  const [one, , two, , three] = ids([
    line('started', 'readToolCall', { args: { path: 'a' } }),
    line('started', 'readToolCall', { args: { path: 'b' } }),
    line('started', 'grepToolCall', { args: { pattern: 'a' } }),
  ]);

  expect(new Set([one, two, three]).size).toBe(3);
  const ends = ['grepToolCall', 'readToolCall', 'readToolCall'].map((name) =>
    line('completed', name, { result: { success: {} } }),
  );
  expect(ids(ends)).toEqual([three, one, two]);
});

test('a call of an unknown form keeps all that it has, and an end of an unknown form has failed', () => {
  const stream = new Stream('/work', new Todos());
  const called = (subtype: string, tool_call: object) =>
    stream.take(JSON.stringify({ type: 'tool_call', subtype, call_id: 'x', tool_call }));

  expect(called('started', { newToolCall: { depth: 1, list: ['a'] } })[0]).toMatchObject({
    ...{ kind: 'other', title: 'new', rawInput: { depth: 1, list: ['a'] } },
  });
  expect(called('failed', { newToolCall: { result: 'no reason' } })).toMatchObject([
    { status: 'failed', rawOutput: 'no reason' },
  ]);
});

test.each([
  ['as they are', `{"x":${'['.repeat(20_000)}1${']'.repeat(20_000)}}`],
  ['as text', JSON.stringify(`{"x":${'['.repeat(20_000)}1${']'.repeat(20_000)}}`)],
])('arguments that are nested more deeply than can be written are told without the rest, %s', (_, text) => {
  const call = `{"function":{"name":"f","arguments":${text}}}`;
  const updates = new Stream('/w', new Todos()).take(
    `{"type":"tool_call","subtype":"started","call_id":"1","tool_call":${call}}`,
  );

  expect(JSON.stringify(updates)).toContain('"rawInput":{"x":[[[[');
});

test('half a character, which no editor could read, is replaced', () => {
  const line = String.raw`{"type":"assistant","timestamp_ms":1,"message":{"content":[{"text":"a\ud83d"}]}}`;

  expect(told([line])).toEqual(['a\ufffd']);
});
