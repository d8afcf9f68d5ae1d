import {
  agentNames,
  allOr,
  folders,
  isPersonName,
  listenPlaces,
  servedHosts,
  webOrigins,
} from '../../src/config/serve-words';

describe('isPersonName', () => {
  test.each(['ann', 'A1', 'ann@example.com', 'a-b_c.d', '7', 'a'.repeat(64)])('takes %s', (name) =>
    expect(isPersonName(name)).toBe(true),
  );

  test.each([
    '',
    'owner',
    '-a',
    '.a',
    '_a',
    '@a',
    'a b',
    'a/b',
    'a\n',
    'a\0',
    'ä',
    'a'.repeat(65),
    '__proto__',
  ])('does not take %j', (name) => expect(isPersonName(name)).toBe(false));
});

test.each([
  [agentNames, ['claude', 'mine'], ['claude', 'mine']],
  [agentNames, [], undefined],
  [agentNames, ['a', 'a'], undefined],
  [agentNames, 'all', undefined],
  [allOr(agentNames), 'all', 'all'],
  [allOr(agentNames), ['all'], ['all']],
  [allOr(agentNames), 'claude', undefined],
  [folders, ['/a/../b', '~/c', '~'], ['/b', '/home/u/c', '/home/u']],
  [folders, ['a'], undefined],
  [folders, ['~other/a'], undefined],
  [folders, ['/a', 1], undefined],
  [folders, ['/a\0'], undefined],
  [folders, '/a', undefined],
  [listenPlaces, ['8722', '0.0.0.0:8722', 'https://[::1]:1', 'tcp://h:2', 'tls://h:3'], 'same'],
  [listenPlaces, ['unix:/run/s', 'unix:~/s'], ['unix:/run/s', 'unix:/home/u/s']],
  [listenPlaces, [], undefined],
  [listenPlaces, ['0.0.0.0'], undefined],
  [listenPlaces, ['ftp://h:1'], undefined],
  [listenPlaces, ['http://h:1/acp'], undefined],
  [listenPlaces, ['h:1', 'h:1'], undefined],
  [listenPlaces, '8722', undefined],
  [servedHosts, ['a.example', 'b.example:1', '[fd00::1]', '[fd00::1]:65535', '10.0.0.1'], 'same'],
  [servedHosts, ['fd00::1'], undefined],
  [servedHosts, ['a.example.'], undefined],
  [servedHosts, ['a.example:'], undefined],
  [servedHosts, ['u@a.example'], undefined],
  [servedHosts, ['127.1'], undefined],
  [servedHosts, ['*'], undefined],
  [webOrigins, ['https://a.example', 'http://a.example:8080', 'http://[::1]:3000'], 'same'],
  [webOrigins, ['a.example'], undefined],
  [webOrigins, ['https://a.example/path'], undefined],
  [webOrigins, ['https://A.example'], undefined],
  [webOrigins, ['https://*.example'], undefined],
  [webOrigins, ['file://'], undefined],
  [webOrigins, ['vscode-file://vscode-app'], 'same'],
])('%# reads %j', (kind, value, expected) => {
  const base = { folder: '/home/u/.config', home: '/home/u' };

  expect(kind.read(value, base)).toEqual(expected === 'same' ? value : expected);
});
