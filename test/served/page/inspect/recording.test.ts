import { kinds, Recording, type Filter } from '../../../../src/served/page/inspect/recording';
import type { Row } from '../../../../src/served/page/inspect/row';

const all: Filter = { connection: 'editor', kind: 'all messages', session: undefined, found: undefined };

/** Rows with these places; the first line of a recording is its head. */
function recordingOf(...rows: readonly Partial<Row>[]): Recording {
  const recording = new Recording();
  recording.add(
    rows.map((row, index) => ({
      ...{ line: index + 2, at: 0, bytes: 1, kind: 'notification', redacted: 0, isError: false },
      ...{ side: 'from editor', ms: index },
      ...row,
    })) as Row[],
  );
  return recording;
}

const linesOf = (rows: readonly Row[]): readonly number[] => rows.map(({ line }) => line);

test('an answer and its request know each other, the time, and a session that the answer opens', () => {
  const recording = recordingOf(
    { kind: 'request', method: 'session/new' },
    { kind: 'response', method: 'session/new', side: 'to editor', other: 2, tookMs: 7, session: 's' },
    { kind: 'request', method: 'session/prompt', session: 's' },
  );

  expect(recording.at(2)).toMatchObject({ other: 3, tookMs: 7, session: 's' });
  expect(linesOf(recording.shown({ ...all, kind: 'no answer' }))).toEqual([4]);
});

test('a filter lets through what fits all of it', () => {
  const recording = recordingOf(
    { session: 'a', method: 'session/update', tool: 't' },
    { session: 'b', redacted: 3 },
    { session: 'a', child: 1, side: 'to agent', isError: true },
    { side: undefined, kind: 'event', child: 1 },
    { side: undefined, kind: 'damaged', ms: undefined },
  );
  const lines = (filter: Partial<Filter>) => linesOf(recording.shown({ ...all, ...filter }));

  expect(lines({})).toEqual([2, 3, 5, 6]);
  expect(lines({ connection: 1 })).toEqual([4, 5, 6]);
  expect(lines({ connection: 'all' })).toEqual([2, 3, 4, 5, 6]);
  expect(lines({ session: 'a' })).toEqual([2]);
  expect(lines({ session: '' })).toEqual([5, 6]);
  expect(lines({ found: new Set([3, 4]) })).toEqual([3]);
  const byKind = Object.keys(kinds).map((kind) => [kind, lines({ connection: 'all', kind })]);
  expect(Object.fromEntries(byKind)).toEqual({
    'all messages': [2, 3, 4, 5, 6],
    'without updates': [3, 4, 5, 6],
    'tool calls': [2],
    permissions: [],
    errors: [4, 6],
    redacted: [3],
    'no answer': [],
  });
  expect(recording).toMatchObject({ redactedRows: 1, redactedValues: 3 });
  expect(linesOf(recording.damaged)).toEqual([6]);
});

test('a turn has the tool calls and permissions between its prompt and the answer, of its session', () => {
  const update = { side: 'to editor', method: 'session/update', session: 's', tool: 't' };
  const recording = recordingOf(
    { ...update, tool: 'earlier' },
    { kind: 'request', method: 'session/prompt', session: 's' },
    { ...update, update: 'tool_call', text: 'Knead', status: 'pending' },
    { ...update, update: 'tool_call', session: 'other', tool: 'x' },
    { kind: 'request', method: 'session/request_permission', side: 'to editor', session: 's', tool: 't' },
    { kind: 'response', method: 'session/request_permission', session: 's', other: 6, tookMs: 3 },
    { ...update, update: 'tool_call_update', status: 'completed' },
    { kind: 'response', method: 'session/prompt', side: 'to editor', session: 's', other: 3, tookMs: 6 },
    { session: 's' },
  );

  const turn = recording.turnOf(recording.at(6)!)!;

  expect(turn.prompt.line).toBe(3);
  expect(turn.answer?.line).toBe(9);
  expect(turn.tools).toEqual([{ row: recording.at(4), title: 'Knead', status: 'completed', endMs: 6 }]);
  expect(linesOf(turn.permissions)).toEqual([6]);
  expect(recording.turnOf(recording.at(9)!)?.prompt.line).toBe(3);
  expect(recording.turnOf(recording.at(2)!)).toBeUndefined();
  expect(recording.turnOf(recording.at(10)!)).toBeUndefined();
});

test('sessions are lanes of a connection', () => {
  const recording = recordingOf(
    { method: 'initialize' },
    { session: 'b' },
    { session: 'a' },
    { session: 'b' },
    { session: 'c', child: 1 },
  );

  const lanes = recording.lanes('editor').map(({ session, rows }) => [session, linesOf(rows)]);
  expect(lanes).toEqual([
    ['', [2]],
    ['b', [3, 5]],
    ['a', [4]],
  ]);
});
