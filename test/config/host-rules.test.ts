import { names, normalHost, parseRule, placeOfUrl, placeText } from '../../src/config/host-rules';

const usual = [80, 443];

/** Whether the rule names the place. */
function isNamed(rule: string, host: string, port = 443): boolean {
  return names(parseRule(rule)!, { host, port }, usual);
}

describe('parseRule', () => {
  it.each([
    ...['example.com', 'EXAMPLE.com:8443', '*.example.com', '*', '*:22', 'localhost:*', 'a_b.example.com:1'],
    ...['10.0.0.0/8', '10.0.0.1:22', '[::1]', '[fd00::/8]:443', '[::ffff:10.0.0.1]', 'xn--mnchen-3ya.de'],
  ])('reads %s', (text) => {
    expect(parseRule(text)?.text).toBe(text);
  });

  it.each([
    ...['', ' ', 'http://example.com', 'example.com/path', 'user@example.com', 'example.com:', '*.', '*.*'],
    ...['example.com:0', 'example.com:65536', 'example.com:443:1', 'a.*.com', '*example.com', 'münchen.de'],
    ...[
      '10.0.0.0/33',
      '10.0.0/8',
      '256.0.0.1',
      '::1',
      '[::1',
      '[example.com]',
      '[fd00::/129]',
      'a..b',
      '-a.b',
    ],
  ])('does not take %j', (text) => {
    expect(parseRule(text)).toBeUndefined();
  });
});

describe('names', () => {
  it.each([
    ['example.com', 'example.com', 443, true],
    ['Example.COM', 'example.com', 80, true],
    ['example.com', 'example.com', 22, false],
    ['example.com:22', 'example.com', 22, true],
    ['example.com:22', 'example.com', 443, false],
    ['example.com:*', 'example.com', 1, true],
    ['example.com', 'www.example.com', 443, false],
    ['example.com', 'badexample.com', 443, false],
    ['*.example.com', 'a.b.example.com', 443, true],
    ['*.example.com', 'example.com', 443, false],
    ['*.example.com', 'badexample.com', 443, false],
    ['*', 'anything.example', 443, true],
    ['*', '8.8.8.8', 443, false],
    ['10.0.0.0/8', '10.9.8.7', 443, true],
    ['10.0.0.0/8', '11.0.0.0', 443, false],
    ['10.0.0.0/8', '10.example.com', 443, false],
    ['10.0.0.1:22', '10.0.0.1', 22, true],
    ['10.0.0.0/8', '::ffff:a09:807', 443, true],
    ['[fd00::/8]', 'fd12::1', 443, true],
    ['[fd00::/8]', 'fe80::1', 443, false],
    ['0.0.0.0/0', '1.2.3.4', 443, true],
  ])('%s names %s, port %d: %s', (rule, host, port, expected) => {
    expect(isNamed(rule, host, port)).toBe(expected);
  });

  it('lets a rule without a port name all where that is usual', () => {
    expect(names(parseRule('example.com')!, { host: 'example.com', port: 9 }, 'any')).toBe(true);
  });
});

describe('normalHost', () => {
  it.each([
    ['EXAMPLE.com.', 'example.com'],
    ['münchen.de', 'xn--mnchen-3ya.de'],
    ['0x7f.1', '127.0.0.1'],
    ['2130706433', '127.0.0.1'],
    ['0', '0.0.0.0'],
    ['%31%32%37.0.0.1', '127.0.0.1'],
    ['[::1]', '::1'],
    ['::1', '::1'],
    ['[::ffff:127.0.0.1]', '::ffff:7f00:1'],
  ])('makes of %s what everybody who connects makes of it: %s', (host, expected) => {
    expect(normalHost(host)).toBe(expected);
  });

  it.each([
    '',
    '.',
    'a b',
    'user@example.com',
    'example.com/path',
    'example.com:1',
    '[::1',
    'a%00b',
    '1.2.3.4.5',
    'a\\b',
    'a#b',
    'a?b',
    // Looked up with a last dot, it would be `example.com`, which a rule can refuse.
    'example.com..',
    'a..b',
    // Shown in a command that the user may run.
    'a;b',
    '$(a).example.com',
    '`a`.example.com',
    "a'b.example.com",
    'a&b',
    '-a.example.com',
    '*.example.com',
    `${'a'.repeat(64)}.example.com`,
  ])('knows no host in %j', (host) => expect(normalHost(host)).toBeUndefined());
});

describe('placeOfUrl', () => {
  it.each([
    ['https://user@API.example.com/path', { host: 'api.example.com', port: 443 }],
    ['http://api.example.com', { host: 'api.example.com', port: 80 }],
    ['https://[fd00::1]:8443/', { host: 'fd00::1', port: 8443 }],
    ['ftp://api.example.com', undefined],
    ['', undefined],
  ])('of %j is %j', (url, place) => expect(placeOfUrl(url)).toEqual(place));
});

test('placeText has an IPv6 address in brackets', () => {
  expect([placeText({ host: 'a.b', port: 1 }), placeText({ host: '::1', port: 2 })]).toEqual([
    'a.b:1',
    '[::1]:2',
  ]);
});
