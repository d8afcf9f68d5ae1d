import { FenceReader, type Piece } from '../../../../src/served/page/shown/fences';

/** Pieces that belong together, as one: `[language]text` for code. */
function read(...chunks: readonly string[]): string[] {
  const reader = new FenceReader();
  const pieces: Piece[] = [...chunks.flatMap((chunk) => reader.push(chunk)), ...reader.end()];
  const parts: string[] = [];
  for (const { isCode, isNew, language, text } of pieces) {
    if (isNew) parts.push(isCode ? `[${language}]` : '');
    parts.push(`${parts.pop() ?? ''}${text}`);
  }
  return parts;
}

const text = 'Look:\n```ts\nconst a = `b`;\n```\nand `this` too';

test('code stands between fences', () => {
  expect(read(text)).toEqual(['Look:\n', '[ts]const a = `b`;\n', 'and `this` too']);
});

test('wherever the text is cut, it is read alike', () => {
  for (let at = 1; at < text.length; at++)
    expect(read(text.slice(0, at), text.slice(at))).toEqual(read(text));
  expect(read(...Array.from(text))).toEqual(read(text));
});

test.each([
  ['nothing', '', []],
  ['code without an end', '```\nx', ['[]x']],
  ['a fence alone', '```', []],
  ['ticks in a line', 'a ``` b\n', ['a ``` b\n']],
  ['ticks that close again', '```x``` y\n', ['```x``` y\n']],
  ['two ticks', '``', ['``']],
  ['a longer fence around a shorter', '````md\n```\nx\n```\n````\ny', ['[md]```\nx\n```\n', 'y']],
  ['a fence with words inside code', '```\n```js\n```\n', ['[]```js\n']],
  ['a fence behind spaces', '  ```\nx\n  ```\n', ['[]x\n']],
  ['a line that is too long for one', `\`\`\`${'x'.repeat(300)}\n`, [`\`\`\`${'x'.repeat(300)}\n`]],
])('%s', (_name, given, expected) => {
  expect(read(given)).toEqual(expected);
});

test('what cannot become a fence is shown at once', () => {
  expect(new FenceReader().push('word')).toMatchObject([{ text: 'word' }]);
  expect(new FenceReader().push('  `')).toEqual([]);
});
