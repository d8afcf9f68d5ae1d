import fc from 'fast-check';
import { diffOf } from '../../../../src/served/page/shown/diff';

const marks = { same: ' ', old: '-', new: '+', gap: '' };
const diff = (before: string, after: string) =>
  diffOf(before, after).map(({ kind, text }) => `${marks[kind]}${text}`);

test('changed lines stand among some that are the same', () => {
  expect(diff('1\n2\n3\n4\n5\n6\n7\n8\n', '1\n2\n3\n4\n5\nx\n7\n8\n')).toEqual([
    '⋯',
    ' 3',
    ' 4',
    ' 5',
    '-6',
    '+x',
    ' 7',
    ' 8',
  ]);
});

test.each([
  ['a new file', '', 'a\nb\n', ['+a', '+b']],
  ['a file that goes', 'a\n', '', ['-a']],
  ['nothing', 'a\n', 'a\n', ['⋯']],
  ['a line put between', 'a\nb\n', 'a\nx\nb\n', [' a', '+x', ' b']],
  ['an empty line', 'a\n', 'a\n\n', [' a', '+']],
])('%s', (_name, before, after, lines) => expect(diff(before, after)).toEqual(lines));

test('what is far too long has nothing in common looked for', () => {
  const lines = (word: string) => Array.from({ length: 1_200 }, (_, index) => `${word}${index}\n`).join('');
  expect(diffOf(lines('a'), lines('b')).map(({ kind }) => kind)).toEqual([
    ...Array<string>(1_200).fill('old'),
    ...Array<string>(1_200).fill('new'),
  ]);
});

test('both texts can be read from it', () => {
  const text = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 6 }).map((lines) => lines.join('\n'));
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = diffOf(before, after);
      fc.pre(!lines.some(({ kind }) => kind === 'gap'));
      const side = (kind: string) =>
        lines.filter((each) => each.kind === kind || each.kind === 'same').map(({ text: line }) => line);
      expect(side('old').join('\n')).toBe(before.replace(/\n$/, ''));
      expect(side('new').join('\n')).toBe(after.replace(/\n$/, ''));
    }),
  );
});
