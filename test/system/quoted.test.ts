import { execFileSync } from 'node:child_process';
import { commandWord, printable, printableCharacters, printableLine, quoted } from '../../src/system/quoted';

describe('text for a terminal', () => {
  const text = 'a\u202eb\u200b\u001b[2J\u009b\tc  d\r\ne\rf\u2028g 😀\ud800';

  test('cannot steer it or hide anything, in several lines', () => {
    expect(printable(text)).toBe('a\ufffdb\ufffd\ufffd[2J\ufffd\tc  d\ne\nf\ufffdg 😀\ufffd');
  });

  test('is on one line, with single spaces or as it is', () => {
    expect(printableLine(text)).toBe('a\ufffdb\ufffd\ufffd[2J\ufffd c d e f\ufffdg 😀\ufffd');
    expect(printableCharacters('a\t\r\n  b')).toBe('a\ufffd\ufffd\ufffd  b');
  });
});

describe('quoted', () => {
  test.each<[unknown, string]>([
    ['a "b" é 漢 😀', '"a \\"b\\" é 漢 😀"'],
    ['\u001b[31m\u009b\u007f\n', '"\\u001b[31m\\u009b\\u007f\\n"'],
    ['\u202e\u200b\ufeff\u2028\u2029', '"\\u202e\\u200b\\ufeff\\u2028\\u2029"'],
    ['\ud800 \u{e0001}', '"\\ud800 \\udb40\\udc01"'],
    [['a', 1, true], '["a",1,true]'],
  ])('%j is %s', (value, text) => {
    expect(quoted(value)).toBe(text);
    expect(JSON.parse(quoted(value))).toEqual(value);
  });
});

describe('commandWord', () => {
  test.each([
    '/a b',
    '/$(touch pwned)',
    '/`touch pwned`',
    '/x"; touch pwned; "',
    "/it's $HOME",
    '/a\\b',
    '/a!b',
  ])('is one word of a shell, which runs nothing: %s', (path) => {
    const printed = execFileSync('/bin/sh', ['-c', `printf '%s\n' ${commandWord(path)}`], {
      encoding: 'utf8',
    });
    expect(printed).toBe(`${path}\n`);
  });

  test('is in double quotes where that is enough, and shows no control characters', () => {
    expect(commandWord('/home/u/my app')).toBe('"/home/u/my app"');
    expect(commandWord('/a$\u001bb')).toBe("'/a$\ufffdb'");
  });
});
