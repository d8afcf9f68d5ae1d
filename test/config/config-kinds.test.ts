import {
  absolutePath,
  command,
  decimal,
  duration,
  flag,
  listOf,
  matching,
  oneOf,
  path,
  size,
  text,
  url,
  wholeNumber,
  type Kind,
} from '../../src/config/config-kinds';

const base = { folder: '/folder', home: '/home/u' };

const cases: readonly (readonly [
  string,
  Kind<unknown>,
  readonly (readonly [unknown, unknown])[],
  readonly unknown[],
])[] = [
  ['text', text, [['a', 'a']], ['', 1, true, null, ['a']]],
  [
    'flag',
    flag,
    [
      [true, true],
      [false, false],
    ],
    ['true', 1, 0, null],
  ],
  ['oneOf', oneOf('a', 'b'), [['b', 'b']], ['', 'c', 'A', 1, ['a']]],
  [
    'command',
    command,
    [
      [['prog'], ['prog']],
      [
        ['prog', '', '-x y'],
        ['prog', '', '-x y'],
      ],
    ],
    [[], [''], ['', 'x'], 'prog', ['prog', 1], ['pr\0g'], ['prog', 'a\0'], { 0: 'prog' }],
  ],
  [
    'duration',
    duration(),
    [
      ['0s', 0],
      ['90s', 90_000],
      ['10m', 600_000],
      ['2h', 7_200_000],
      ['90d', 7_776_000_000],
    ],
    [
      '',
      '10',
      'm',
      '10 m',
      '1.5h',
      '-1m',
      '10M',
      '10ms',
      '1h30m',
      10,
      `${'9'.repeat(20)}d`,
      '1toString',
      ' 1m',
      '1m\n',
    ],
  ],
  [
    'duration with a limit',
    duration('2h'),
    [
      ['2h', 7_200_000],
      ['120m', 7_200_000],
    ],
    ['121m', '3h'],
  ],
  [
    'wholeNumber',
    wholeNumber(2),
    [
      [2, 2],
      [2 ** 53 - 1, 2 ** 53 - 1],
    ],
    [1, 2.5, '2', -3, NaN, Infinity, 2 ** 53, null],
  ],
  [
    'decimal',
    decimal(0.5),
    [
      [0.5, 0.5],
      [3, 3],
    ],
    [0.4, 0, '1', -1, NaN, Infinity, true],
  ],
  [
    'path',
    path,
    [
      ['/a/../b/', '/b'],
      ['~', '/home/u'],
      ['~/a', '/home/u/a'],
      ['a', '/folder/a'],
      ['./../a', '/a'],
      ['~u/a', '/folder/~u/a'],
    ],
    ['', 1, 'a\0b', ['/a'], `/${'a'.repeat(5_000)}`, '\ud800'],
  ],
  [
    'absolutePath',
    absolutePath,
    [
      ['/a', '/a'],
      ['~/a/../b', '/home/u/b'],
    ],
    ['', 'a', './a', '~u/a', 1, '/a\0b', ['/a']],
  ],
  [
    'url',
    url,
    [
      ['http://proxy.example:3128', 'http://proxy.example:3128'],
      ['https://user:word@[::1]/x', 'https://user:word@[::1]/x'],
    ],
    ['', 'proxy.example:3128', 'ftp://x', 'http://', 'http://a b', 'http://x\n', 'file:///etc/passwd', 1],
  ],
  ['matching', matching('a', /^a+$/), [['aa', 'aa']], ['', 'ab', 1, ['aa'], 'a\nb']],
  [
    'listOf',
    listOf('letters', (element) => /^[a-z]$/.test(element)),
    [
      [[], []],
      [
        ['b', 'a'],
        ['b', 'a'],
      ],
    ],
    ['a', ['aa'], ['a', 1], ['a', 'a'], [['a']], { 0: 'a' }, null],
  ],
  [
    'size',
    size('1MiB'),
    [
      ['1024KiB', 1_048_576],
      ['64MiB', 67_108_864],
      ['2GiB', 2_147_483_648],
    ],
    ['', '64', '1023KiB', '0MiB', '64MB', '64mib', '1.5GiB', 64, '64 MiB', `${'9'.repeat(12)}GiB`],
  ],
];

describe.each(cases)('%s', (_, kind, good, bad) => {
  test.each(good)('reads %j as %j', (value, expected) => expect(kind.read(value, base)).toEqual(expected));

  test.each(bad.map((value) => [value]))('does not read %j', (value) => {
    expect(kind.read(value, base)).toBeUndefined();
  });
});

describe('what is expected', () => {
  test.each([
    [oneOf('a', 'b').expected, '"a" or "b"'],
    [duration().expected, 'a duration such as "10m" (whole number and s, m, h or d)'],
    [duration('24d').expected, 'a duration such as "10m" (whole number and s, m, h or d), at most 24d'],
    [wholeNumber(2).expected, 'a whole number, at least 2'],
    [decimal(0.5).expected, 'a number, at least 0.5'],
    [size('1MiB').expected, 'a size such as "64MiB" (whole number and KiB, MiB or GiB), at least 1MiB'],
  ])('%s', (expected, sentence) => expect(expected).toBe(sentence));
});
