import { ageOf, bytesText, paintFor, plain, shownTime, table } from '../../../src/commands/support/terminal';

describe('bytesText', () => {
  test.each([
    [0, '0 B'],
    [999, '999 B'],
    [1_234, '1.2 kB'],
    [56_789_000, '57 MB'],
    [1_500_000_000, '1.5 GB'],
    [undefined, '?'],
    [null, '?'],
  ])('%d is %s', (bytes, text) => expect(bytesText(bytes)).toBe(text));
});

describe('ageOf', () => {
  test.each([
    [-5, '0s'],
    [999, '0s'],
    [59_999, '59s'],
    [60_000, '1m'],
    [3_599_999, '59m'],
    [3_600_000, '1h'],
    [86_399_999, '23h'],
    [86_400_000, '1d'],
    [400 * 86_400_000, '400d'],
  ])('%d ms is %s', (ageMs, text) => expect(ageOf(ageMs)).toBe(text));
});

describe('paintFor', () => {
  const terminal = { isTTY: true };

  test('colours what a terminal shows', () => {
    const paint = paintFor({ env: { TERM: 'xterm', NO_COLOR: '' } }, terminal);

    expect([paint('ok', 'good'), paint('exited', undefined)]).toEqual(['\u001b[32mok\u001b[39m', 'exited']);
  });

  test.each([
    [{ NO_COLOR: '1' }, terminal],
    [{ TERM: 'dumb' }, terminal],
    [{}, {}],
  ])('colours nothing for %j on %j', (env, stream) => expect(paintFor({ env }, stream)).toBe(plain));
});

describe('shownTime', () => {
  const iso = '2026-01-02T03:04:05.678Z';

  test('is what the clock of this machine says on a terminal', () => {
    const shown = shownTime(iso, true);

    expect(shown).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:05$/);
    // Without a zone, it is read as a local time.
    expect(Date.parse(shown.replace(' ', 'T'))).toBe(Date.parse(iso) - 678);
  });

  test.each([
    [iso, false],
    [iso, undefined],
    ['tomorrow', true],
  ])('leaves %s as it is', (text, isTerminal) => expect(shownTime(text, isTerminal)).toBe(text));
});

describe('table', () => {
  test('paints cells below the names of columns, and keeps widths', () => {
    const paint = (cell: string, column: string): string => (column === 'STATE' ? `<${cell}>` : cell);
    const rows = [
      ['STATE', 'AGE'],
      ['up', '1s'],
    ];

    expect(table(rows, [], undefined, paint)).toBe('STATE  AGE\n<up   >  1s\n');
  });

  test('aligns columns, without spaces at the ends of lines', () => {
    const rows = [
      ['NAME', 'AGE'],
      ['a', '12m'],
      ['longer', ''],
    ];

    expect(table(rows)).toBe('NAME    AGE\na       12m\nlonger\n');
  });

  test('lets no name steer the terminal or begin a line', () => {
    expect(table([['a\u001b[2Jb', 'c\nd\u2028\u202e']])).toBe('a\ufffd[2Jb  c\ufffdd\ufffd\ufffd\n');
  });

  test('fits the terminal: the widest of the flexible columns are shortened, and of a path the end stays', () => {
    const rows = [
      ['TITLE', 'WORKSPACE', 'ID'],
      ['A title that is quite long', '/home/somebody/projects/bakery', '0123456789'],
    ];

    const text = table(rows, ['TITLE', 'WORKSPACE'], 40);

    expect(text).toBe('TITLE          WORKSPACE      ID\nA title that…  …jects/bakery  0123456789\n');
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(40);
    expect(table(rows, ['TITLE', 'WORKSPACE'], 0)).toContain('quite long  /home/somebody');
    expect(table(rows, ['TITLE', 'WORKSPACE'], 5)).toContain('A title t…  …ts/bakery  0123456789');
  });
});
