import { faceOf, fenceFor, outcomeOf, toolReportOf } from '../../src/cursor/tools';

const report = (key: string, args: object, result?: object) =>
  toolReportOf({
    call_id: 'c',
    subtype: 'completed',
    tool_call: { [key]: { args, ...(result && { result }) } },
  });

test.each([
  ['shellToolCall', { command: 'ls -l\n  | wc' }, 'ls -l | wc', 'execute'],
  ['lsToolCall', { path: 'src' }, 'Read src', 'read'],
  ['globToolCall', { globPattern: '**/*.ts' }, 'Search for **/*.ts', 'search'],
  ['webSearchToolCall', { searchTerm: 'acp' }, 'Fetch acp', 'fetch'],
  ['webFetchToolCall', { url: 'https://a.example' }, 'Fetch https://a.example', 'fetch'],
  ['mcpToolCall', { toolName: 'look_up' }, 'look_up', 'other'],
  ['taskToolCall', { description: 'Look around' }, 'Look around', 'other'],
  ['deleteToolCall', { path: 1 }, 'delete', 'delete'],
  ['newToolCall', {}, 'new', 'other'],
])('%s has a title and a kind', (key, args, title, kind) => {
  expect(faceOf(report(key, args), '/work')).toMatchObject({ title, kind });
});

test('paths are absolute, and lines are numbers of lines', () => {
  expect(faceOf(report('readToolCall', { path: '../a', offset: 0 }), '/work').locations).toEqual([
    { path: '/a' },
  ]);
});

test('a long title is cut', () => {
  expect(faceOf(report('shellToolCall', { command: 'x'.repeat(500) }), '/work').title).toHaveLength(200);
});

test.each<[string, object | undefined, string]>([
  ['success', { success: {} }, 'completed'],
  ['no result', undefined, 'completed'],
  ['an error', { error: { message: 'no' } }, 'failed'],
  ['an error that is text', { error: 'no' }, 'failed'],
  ['a refusal', { rejected: { reason: 'no' } }, 'failed'],
  ['a failure with a status', { failure: { exitCode: 1, stderr: 'no' } }, 'failed'],
])('%s is told', (_what, result, status) => {
  const outcome = outcomeOf(report('shellToolCall', {}, result), '/work');

  expect(outcome.status).toBe(status);
  expect(JSON.stringify(outcome.content)).toContain(status === 'failed' ? 'no' : '[]');
});

test('a file that could not be written is no difference', () => {
  const { content } = outcomeOf(
    report('writeToolCall', { path: 'a', fileText: 'b' }, { error: 'read-only' }),
    '/',
  );

  expect(content).toEqual([{ type: 'content', content: { type: 'text', text: 'read-only' } }]);
});

test('no output ends its own fence', () => {
  expect([fenceFor('a'), fenceFor('a ```` b')]).toEqual(['```', '`````']);
});
