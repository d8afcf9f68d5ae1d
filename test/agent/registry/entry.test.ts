import { readEntry } from '../../../src/agent/registry/entry';

const usual = {
  id: 'some-agent',
  name: 'Some Agent',
  version: '1.2.3',
  description: 'It writes code',
  distribution: { npx: { package: '@some/agent@1.2.3', args: ['--acp'] } },
};
const target = { archive: 'https://example.com/agent.tar.gz', cmd: './agent' };
const withTarget = (changes: object) => ({
  ...usual,
  distribution: { binary: { 'linux-x86_64': { ...target, ...changes } } },
});
const withNpx = (changes: object) => ({
  ...usual,
  distribution: { npx: { package: '@some/agent@1.2.3', ...changes } },
});

describe('readEntry', () => {
  test('takes what it needs, and ignores what it does not know', () => {
    expect(readEntry({ ...usual, icon: 'https://example.com/i.svg', license: 'MIT', future: {} })).toEqual({
      id: 'some-agent',
      name: 'Some Agent',
      version: '1.2.3',
      description: 'It writes code',
      license: 'MIT',
      npx: { name: '@some/agent', version: '1.2.3', args: ['--acp'], env: {} },
    });
  });

  test.each([
    ['npx', 'agent@1.0.0-beta.1', { name: 'agent', version: '1.0.0-beta.1' }],
    ['npx', 'agent', { name: 'agent', version: '1.2.3' }],
    ['npx', '@some/agent@latest', { name: '@some/agent', version: '1.2.3' }],
    ['uvx', 'agent==2.0.1', { name: 'agent', version: '2.0.1' }],
    ['uvx', 'agent@2.0.1', { name: 'agent', version: '2.0.1' }],
    ['uvx', 'agent[acp]==2.0.1', { name: 'agent[acp]', version: '2.0.1' }],
    ['uvx', 'agent', { name: 'agent', version: '1.2.3' }],
  ])('knows the exact version of the %s package %s', (kind, text, expected) => {
    const entry = readEntry({ ...usual, distribution: { [kind]: { package: text } } });

    expect(entry).toMatchObject({ [kind]: expected });
  });

  test('takes the archives for Linux, and looks at no others', () => {
    const sha256 = 'AB'.repeat(32);
    const binary = {
      'linux-x86_64': { ...target, cmd: './dist/agent', args: ['acp'], env: { A_B: 'c' }, sha256 },
      'linux-aarch64': target,
      'windows-x86_64': { archive: 'no URL', cmd: '.\\agent.cmd' },
    };

    expect(readEntry({ ...usual, distribution: { binary } }).binary).toEqual({
      x86_64: {
        ...{ archive: target.archive, cmd: 'dist/agent', args: ['acp'], env: { A_B: 'c' } },
        sha256: sha256.toLowerCase(),
      },
      aarch64: { archive: target.archive, cmd: 'agent', args: [], env: {} },
    });
  });

  test('makes texts harmless for a terminal', () => {
    expect(readEntry({ ...usual, name: 'A\u001b[2Jb', description: 'one\ntwo' })).toMatchObject({
      name: 'A\ufffd[2Jb',
      description: 'one two',
    });
  });

  test.each<[string, unknown, RegExp]>([
    ['is none', 7, /it is no object/],
    ['has no id', { ...usual, id: undefined }, /its id is no text/],
    ['has the id of a path', { ...usual, id: '../x' }, /its id is no id/],
    ['has an id that is an option', { ...usual, id: '--acp' }, /its id is no id/],
    ['has nothing to install', { ...usual, distribution: {} }, /nothing for Linux/],
    ['is for Windows alone', { ...usual, distribution: { binary: { 'windows-x86_64': target } } }, /Linux/],
    ['asks for an option of npm', withNpx({ package: '--registry=https://evil.example' }), /npx package/],
    ['asks for a package elsewhere', withNpx({ package: 'https://evil.example/x.tgz' }), /npx package/],
    ['asks for a package of git', withNpx({ package: 'github:evil/x' }), /npx package/],
    ['asks for a folder', withNpx({ package: 'x@file:/etc' }), /npx package/],
    ['asks for a range', withNpx({ package: 'x@>=1' }), /npx package/],
    ['asks for more than one package', withNpx({ package: 'x@1.0.0 evil' }), /npx package/],
    ['starts a program by its path', withNpx({ cmd: '/bin/sh' }), /npx cmd/],
    ['has args that are none', withNpx({ args: 'acp' }), /args/],
    ['has args with zero bytes', withNpx({ args: ['a\0b'] }), /args/],
    ['has a variable of no name', withNpx({ env: { 'A;B': 'c' } }), /env/],
    [
      'has options for node',
      withNpx({ env: { NODE_OPTIONS: '--import=data:text/javascript,' } }),
      /NODE_OPT/,
    ],
    ['preloads a library', withNpx({ env: { LD_PRELOAD: '/tmp/x.so' } }), /LD_PRELOAD/],
    ['moves PATH', withNpx({ env: { PATH: '/tmp' } }), /PATH/],
    ['has a proxy', withNpx({ env: { https_proxy: 'http://evil.example' } }), /https_proxy/],
    ['has an archive without TLS', withTarget({ archive: 'http://example.com/a.tgz' }), /https: URL/],
    ['has an archive of this machine', withTarget({ archive: 'file:///etc/shadow' }), /https: URL/],
    ['leads out of its archive', withTarget({ cmd: './../../bin/sh' }), /path inside the archive/],
    ['leads to the root', withTarget({ cmd: '/bin/sh' }), /path inside the archive/],
    ['has quotes in a path', withTarget({ cmd: "./a'b" }), /path inside the archive/],
    ['has a digest that is none', withTarget({ sha256: 'abc' }), /sha256/],
  ])('refuses one that %s', (_, value, why) => {
    expect(() => readEntry(value)).toThrow(why);
  });
});
