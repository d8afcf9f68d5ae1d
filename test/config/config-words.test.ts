import {
  extraHosts,
  filesBelow,
  innerPath,
  packages,
  pathsBelow,
  serviceName,
  serviceVariables,
  variables,
} from '../../src/config/config-words';
import type { Kind } from '../../src/config/config-kinds';

const cases: readonly (readonly [string, Kind<readonly string[]>, readonly string[], readonly string[]])[] = [
  [
    'packages',
    packages,
    ['a', 'my-agent', 'my-agent@1.2.3', '@mine/tool', '@mine/tool@1.0.0-rc.1', 'a@latest', 'a@^1.2', 'a@~1'],
    [
      ...['', '-g', '--global', 'a b', 'a@', 'a@1 && true', 'a;b', '$(a)', '../a', '/a', './a', '@a'],
      ...['@/a', 'a@http://b', 'git+ssh://a', 'a/b', 'a\nb', 'a@1\n'],
    ],
  ],
  [
    'variables',
    variables,
    ['A', '_a', 'API_KEY_2', 'NODE_OPTIONS', 'GIT_AUTHOR_NAME', 'HOME_2', 'ENVIRONMENT', 'MY_LD_X'],
    [
      ...['', '2A', 'A-B', 'A=B', 'A B', 'A\n', 'Ä', 'PATH', 'HOME', 'USER', 'SHELL', 'PWD', 'TMPDIR'],
      ...['IS_SANDBOX', 'CLAUDE_CONFIG_DIR', 'CAI_HOST_WORKSPACE', 'XDG_RUNTIME_DIR', 'LD_PRELOAD'],
      ...['LD_LIBRARY_PATH', 'DYLD_INSERT_LIBRARIES', 'ENV', 'BASH_ENV'],
    ],
  ],
  [
    'pathsBelow',
    pathsBelow,
    ['Makefile', 'tools/*.sh', 'packages/*/.vscode', '*', 'a*b*c*d*e/a*b*c*d*e', '.a', '...'],
    ['', '/etc', '../other', 'a/../b', './a', 'a//b', 'a/', 'a\0', '**', '**/.vscode', 'a**b', '*a*b*c*d*'],
  ],
  [
    'filesBelow',
    filesBelow,
    ['.env', 'node_modules', 'certs/local', '.github', 'a b'],
    [
      '',
      '/etc',
      '../other',
      'a/../b',
      './a',
      'a//b',
      'a/',
      'a\0',
      '*',
      'a*',
      '.git',
      '.git/config',
      'a/.GIT',
    ],
  ],
  [
    'extraHosts',
    extraHosts,
    ['db:10.0.0.2', 'my-db.example:::1', 'a:2001:db8::1', 'host:host-gateway', 'A_b:127.0.0.1'],
    [
      '',
      'db',
      'db:',
      ':10.0.0.2',
      'db:10.0.0',
      'db:10.0.0.256',
      'db:[::1]',
      'db:example.com',
      'd b:10.0.0.2',
      'db 10.0.0.2',
      '-db:10.0.0.2',
      'db.:10.0.0.2',
      'a..b:10.0.0.2',
      'db:10.0.0.2\n',
      'd\nb:10.0.0.2',
      `${'a'.repeat(64)}:10.0.0.2`,
      'db:host-gateway ',
    ],
  ],
  [
    'serviceVariables',
    serviceVariables,
    ['A=', '_a=b=c', 'PASSWORD=a b\nc', 'PATH=/bin'],
    ['', 'A', '=b', '2A=b', 'A-B=c', 'A B=c', 'A=\0'],
  ],
];

describe.each(cases)('%s', (_, list, good, bad) => {
  test.each(good)('accepts %j', (word) => expect(list.read([word])).toEqual([word]));

  test.each(bad)('refuses %j', (word) => expect(list.read([word])).toBeUndefined());
});

test.each([
  ['serviceName', serviceName, ['db', 'a', 'my-db2', 'my_db', `a${'b'.repeat(31)}`], ['', 'localhost', 'Db', '2db', 'db-', 'a.b', 'a_', '_a', 'd b', 'db\n', `a${'b'.repeat(32)}`]],
  ['innerPath', innerPath, ['/data', '/var/lib/x', '/a/..b', '/.a'], ['', '/', 'data', '/data/', '/a//b', '/a/../b', '/a/.', '/..', '/a\0']],
])('%s', (_, kind, good, bad) => {
  for (const word of good) expect(kind.read(word)).toBe(word);
  for (const word of bad) expect([word, kind.read(word)]).toEqual([word, undefined]);
}); // prettier-ignore
