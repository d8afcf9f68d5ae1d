import { faceOf, fenceFor, outcomeOf, toolReportOf } from '../../../src/cursor/output/tools';

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

test('the places of a result are added', () => {
  const found = { success: { files: ['a.ts', '/work/b.ts', { path: 'c.ts' }, 7, 'a.ts'] } };

  expect(faceOf(report('globToolCall', { path: '/work' }, found), '/work').locations).toEqual(
    ['/work', '/work/a.ts', '/work/b.ts', '/work/c.ts'].map((path) => ({ path })),
  );
});

test('names of files may have every character', () => {
  for (const name of [
    'a\nb',
    'a\tb',
    ' ',
    '"',
    '\\',
    '`',
    '\u001b[31m',
    '日本語',
    '😀',
    '$(x)',
    '-rf',
    '\u202e',
  ]) {
    const { locations } = faceOf(report('readToolCall', { path: name }), '/work');
    expect(locations).toEqual([{ path: `/work/${name}` }]);
    const edit = { success: { path: name, beforeFullFileContent: 'a', afterFullFileContent: 'b' } };
    expect(outcomeOf(report('editToolCall', { path: name }, edit), '/work').content).toEqual([
      { type: 'diff', path: `/work/${name}`, oldText: 'a', newText: 'b' },
    ]);
  }
});

test.each([
  [{ success: { exitCode: 0, stdout: 'a\n' } }, 'Exit code: 0\na'],
  [{ success: { exitCode: 1, stderr: 'b' } }, 'Exit code: 1\nb'],
  [{ success: { exitCode: 0 } }, 'Exit code: 0\n(no output)'],
  [{ success: { output: 'c' } }, 'c'],
  [{ failure: { exitCode: 2, stdout: '' } }, 'Exit code: 2\n(no output)'],
])('of a command, %j is shown with its exit code', (result, shown) => {
  expect(outcomeOf(report('shellToolCall', {}, result), '/').content).toEqual([
    { type: 'content', content: { type: 'text', text: `\`\`\`\n${shown}\n\`\`\`` } },
  ]);
});

test('no character is cut in half', () => {
  expect(faceOf(report('shellToolCall', { command: `${'x'.repeat(199)}😀` }), '/').title).toBe(
    `${'x'.repeat(199)}\ufffd`,
  );
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
  ['a status that is not 0', { success: { exitCode: 1, stderr: 'no' } }, 'failed'],
])('%s is told', (_what, result, status) => {
  const outcome = outcomeOf(report('shellToolCall', {}, result), '/work');

  expect(outcome.status).toBe(status);
  expect(JSON.stringify(outcome.content)).toContain(status === 'failed' ? 'no' : '(no output)');
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
  expect(fenceFor('`a` '.repeat(200_000))).toBe('```');
});
