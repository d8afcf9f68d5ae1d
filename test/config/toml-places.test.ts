import { placesIn, type Path } from '../../src/config/toml-places';

const placeOf = (path: Path, ...lines: string[]): [number, number] => {
  const { line, column } = placesIn(lines.join('\n'))(path);
  return [line, column];
};

describe('placesIn', () => {
  test.each<[string, string[], Path, [number, number]]>([
    ['a key', ['# x', '', '  a = 1'], ['a'], [3, 3]],
    ['a key of a table', ['[t] # [t.a]', 'b = 1', 'a = 1'], ['t', 'a'], [3, 1]],
    ['a table', ['a = 1', '[ t ]'], ['t'], [2, 3]],
    ['a table of a table', ['[t]', '[t.u]'], ['t', 'u'], [2, 4]],
    ['a dotted key', ['t . u\t.v = 1'], ['t', 'u', 'v'], [1, 8]],
    ['the first of two mentions', ['t.a = 1', 't.b = 2'], ['t'], [1, 1]],
    ['a quoted key', ['[t]', '"a.b" = 1', "'c d' = 2"], ['t', 'c d'], [3, 1]],
    ['a key with escapes', ['"\\u0061\\"#=" = 1'], ['a"#='], [1, 1]],
    ['a property of objects', ['[__proto__]', 'toString = 1'], ['__proto__', 'toString'], [2, 1]],
    ['a key in an inline table', ['t = { a = 1, u.b = 2 }'], ['t', 'u', 'b'], [1, 16]],
    ['a key in nested inline tables', ['t = { u = { v = { } } , w = 1 }'], ['t', 'w'], [1, 25]],
    ['a key after arrays', ['a = [[1, 2], [', '"]", # ]', ' 3]]', 'b = 1'], ['b'], [4, 1]],
    ['an element of an array', ['a = [1, [2,', '3]]'], ['a', 1, 1], [2, 1]],
    ['a key in an array of inline tables', ['a = [{ b = 1 },', ' { b = 2 }]'], ['a', 1, 'b'], [2, 4]],
    ['a list of tables', ['[[l]]', 'a = 1', '[[l]]', 'a = 2'], ['l', 1, 'a'], [4, 1]],
    ['a table of a list', ['[[l]]', ' [[ l ]]'], ['l', 1], [2, 5]],
    ['a table in a table of a list', ['[[l]]', '[[l]]', '[l.t]', 'a = 1'], ['l', 1, 't', 'a'], [4, 1]],
    ['a list in a list', ['[[l]]', '[[l.m]]', '[[l.m]]', '[[l]]', '[[l.m]]'], ['l', 1, 'm', 0], [5, 5]],
    ['a key after strings', [`a = "\\"'#"`, `b = '\\'`, 'c = ""', "d = ''", 'e = 1'], ['e'], [5, 1]],
    ['a key after a long string', ['a = """x', '[t]\\""" ""', 'b = 2""""" # """', 'c = 1'], ['c'], [4, 1]],
    ['a key after a long literal', ["a = '''x\\", "b = '' 2'''''", 'c = 1'], ['c'], [3, 1]],
    ['a key after a date', ['a = 2020-01-01 10:00:00Z', 'b = 1e3', 'c = 1'], ['c'], [3, 1]],
    ['a key after Windows line ends', ['[t]\r', 'a = 1\r', 'b = 2\r'], ['t', 'b'], [3, 1]],
    ['a key after a byte order mark', ['\ufeffa = 1'], ['a'], [1, 1]],
    ['a key after wide characters', ['t = { "é😀" = 1, a = 2 }'], ['t', 'a'], [1, 18]],
    ['what is not there: its beginning', ['[t]', 'a = 1'], ['t', 'b', 'c'], [1, 2]],
    ['the top of the text', ['', 'a = 1'], [], [1, 1]],
    ['nothing', [''], ['a'], [1, 1]],
  ])('finds %s', (_, lines, path, place) => expect(placeOf(path, ...lines)).toEqual(place));

  /** Each about 64 KiB, the longest that a repository's file can be. */
  test.each([
    ['lines', `${'# x\n'.repeat(16_000)}a = 1`],
    ['keys on one line', `t = {${Array.from({ length: 8_000 }, (_, i) => `k${i}=1`).join()}}`],
    ['dots', `${Array.from({ length: 32_000 }, () => 'a').join('.')} = 1`],
    ['elements', `a = [${'1,'.repeat(32_000)}]`],
    ['nested lists', `a = ${'['.repeat(900)}${']'.repeat(900)}`],
    ['tables of a list', '[[l]]\na = 1\n'.repeat(5_000)],
  ])('reads a file of a stranger with many %s at once', (_, text) => {
    const begin = process.cpuUsage();

    placesIn(text);

    expect(process.cpuUsage(begin).user).toBeLessThan(10e6);
  });
});
