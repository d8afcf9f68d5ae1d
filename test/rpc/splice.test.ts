import { editedText, ended, lengthOf, splice, withId } from '../../src/rpc/splice';

describe('splice', () => {
  test('takes edits in any order', () => {
    const edits = [
      { start: 5, end: 6, text: 'C' },
      { start: 1, end: 2, text: 'A' },
      { start: 3, end: 4, text: 'B' },
    ];

    expect(splice(Buffer.from('-a-b-c-'), edits).toString()).toBe('-A-B-C-\n');
    expect(edits.map(({ text }) => text)).toEqual(['C', 'A', 'B']);
  });

  test('joins a long line that falls into many pieces', () => {
    const line = Buffer.alloc(100_000, 'x');
    const edits = Array.from({ length: 100 }, (_, i) => ({
      start: 1_000 * i,
      end: 1_000 * i + 1,
      text: 'y',
    }));

    const spliced = splice(line, edits);

    expect(Buffer.isBuffer(spliced)).toBe(true);
    expect(spliced.toString()).toBe(`${`y${'x'.repeat(999)}`.repeat(100)}\n`);
  });

  test('puts in where a place is empty, and takes out where the text is', () => {
    const line = Buffer.from('{"a":1}');

    expect(splice(line, [{ start: 1, end: 1, text: '"b":2,' }]).toString()).toBe('{"b":2,"a":1}\n');
    expect(splice(line, [{ start: 1, end: 6, text: '' }]).toString()).toBe('{}\n');
    expect(splice(line, [{ start: 0, end: 7, text: '[]' }]).toString()).toBe('[]\n');
  });

  test('does not copy a long line', () => {
    const line = Buffer.alloc(1024 * 1024, 'x');

    const spliced = splice(line, [{ start: 2, end: 3, text: 'yy' }]);

    const pieces = spliced as readonly Buffer[];
    expect(pieces.at(-2)?.buffer).toBe(line.buffer);
    expect(Buffer.concat(pieces).toString()).toBe(`xxyy${'x'.repeat(line.length - 3)}\n`);
  });
});

test('a line is ended without a copy of it', () => {
  const line = Buffer.from('{}');
  const [text, ...end] = ended(line) as readonly Buffer[];

  expect(text).toBe(line);
  expect(Buffer.concat(end).toString()).toBe('\n');
});

test('a message gets another id, and nothing else of it changes', () => {
  const line = Buffer.from('{ "id": 7, "result":7}');

  expect(withId({ line, idStart: 8, idEnd: 9 }, '"cai-1"').toString()).toBe('{ "id": "cai-1", "result":7}');
  expect(line.toString()).toBe('{ "id": 7, "result":7}');
});

describe('lengthOf', () => {
  test('counts the bytes of a line in one piece or in several', () => {
    expect(lengthOf(splice(Buffer.from('é'), []))).toBe(3);
    expect(lengthOf(splice(Buffer.alloc(20_000), [{ start: 0, end: 10, text: '€' }]))).toBe(19_994);
  });
});

describe('cut', () => {
  test('gives the text of a part, with edits in it', () => {
    const line = Buffer.from('{"é":{"a":"x","b":"y"}}');

    expect(editedText(line, 6, 23, [])).toBe('{"a":"x","b":"y"}');
    expect(editedText(line, 6, 23, [{ start: 11, end: 14, text: '"€"' }])).toBe('{"a":"€","b":"y"}');
    expect(editedText(line, 6, 23, [{ start: 7, end: 7, text: '"c":1,' }])).toBe('{"c":1,"a":"x","b":"y"}');
  });
});
