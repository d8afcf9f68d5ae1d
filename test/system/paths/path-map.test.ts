import fc from 'fast-check';
import { posix } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createPathMap } from '../../../src/system/paths/path-map';
import { isInside } from '../../../src/system/paths/is-inside';

/** Of UTF-16, also half of a pair. */
const codeUnit = fc.nat({ max: 0xffff }).map((code) => String.fromCharCode(code));

const map = createPathMap({
  hostRoots: ['/link/ws', '/ws'],
  agentRoots: ['/agent', '/home/agent/workspace'],
});

describe('toAgent', () => {
  test.each([
    ['/ws', '/agent'],
    ['/ws/a', '/agent/a'],
    ['/link/ws/a', '/agent/a'],
    ['/ws/a/', '/agent/a/'],
    ['/ws/', '/agent/'],
    ['/ws/a//', '/agent/a/'],
    ['//ws//a///b', '/agent/a/b'],
    ['/./ws/./a/.', '/agent/a'],
    ['/ws/a/../b', '/agent/b'],
    ['/other/../ws/a', '/agent/a'],
    ['/ws/../ws/a', '/agent/a'],
    ['/ws/...', '/agent/...'],
    ['/ws/.git/config', '/agent/.git/config'],
    ['/ws/..a', '/agent/..a'],
    ['/ws/ü ñ/日本/🚀', '/agent/ü ñ/日本/🚀'],
    ['/ws/a b/%20/?x#y', '/agent/a b/%20/?x#y'],
    ['/ws/a\\..\\b', '/agent/a\\..\\b'],
    ['/ws/\ud800', '/agent/\ud800'],
  ])('%j becomes %j', (path, expected) => expect(map.toAgent(path)).toBe(expected));

  test.each([
    ...['', '.', 'ws/a', './ws', '/ws2', '/ws2/a', '/w', '/WS/a', '/ws ', '/ws\0', '/', '//'],
    ...['/other//a/./b/', '/ws/..', '/ws/../ws2', '/ws/a/../../b', '/link/ws/../a', '/link', '/agent/a'],
    ...['C:\\ws\\a', 'file:///ws/a', '--flag=/ws/a'],
  ])('%j stays as it is', (path) => expect(map.toAgent(path)).toBe(path));
});

describe('toEditor', () => {
  test.each([
    ['/agent', '/link/ws'],
    ['/agent/a/', '/link/ws/a/'],
    ['/home/agent/workspace/a', '/link/ws/a'],
    ['/home/agent/./x/../workspace/a', '/link/ws/a'],
    ['/ws/a', '/ws/a'],
    ['/agent2/a', '/agent2/a'],
    ['/home/agent', '/home/agent'],
    ['/agent/../etc/passwd', '/agent/../etc/passwd'],
  ])('%j becomes %j', (path, expected) => expect(map.toEditor(path)).toBe(expected));
});

describe('uriToAgent', () => {
  test.each([
    ['file:///ws', 'file:///agent'],
    ['file:///ws/', 'file:///agent/'],
    ['file:///ws/a', 'file:///agent/a'],
    ['file://localhost/ws/a', 'file://localhost/agent/a'],
    ['file://LocalHost/ws/a', 'file://LocalHost/agent/a'],
    ['file:/ws/a', 'file:/agent/a'],
    ['FILE:///ws/a', 'FILE:///agent/a'],
    ['file:///link/ws/a', 'file:///agent/a'],
    ['file:///ws/a%20b/%C3%BC/%c3%bc/ü', 'file:///agent/a%20b/%C3%BC/%c3%bc/ü'],
    ['file:///ws/a?q=/ws/..#L1-%zz\\', 'file:///agent/a?q=/ws/..#L1-%zz\\'],
    ['file:///ws?q', 'file:///agent?q'],
    ['file:///ws/a%3Fb', 'file:///agent/a%3Fb'],
    ['file:///%77s/a', 'file:///agent/a'],
    ['file:///ws/%61', 'file:///agent/%61'],
    ['file:///ws/a/../b%20', 'file:///agent/b%20'],
    ['file:///ws/%2e%2e/ws/a', 'file:///agent/a'],
    ['file:///ws/a/%2E/b', 'file:///agent/a/b'],
    ['file:///other/.%2e/ws/a', 'file:///agent/a'],
    ['file:////ws//a//', 'file:///agent/a/'],
    ['file:///ws/%ff%fe', 'file:///agent/%ff%fe'],
    ['file:///ws/a\nb', 'file:///agent/a\nb'],
  ])('%j becomes %j', (uri, expected) => expect(map.uriToAgent(uri)).toBe(expected));

  test.each([
    ...['', 'file:', 'file:/', 'file://', 'file:ws/a', 'file:///', 'file:///ws2/a', 'file:///ws%20/a'],
    ...['file:///ws/../a', 'file:///ws/%2e%2e/a', 'file:///ws/a/%2E%2e/.%2e/b', 'file:///ws%2Fa'],
    ...['file:///ws/a%2f..%2f..%2fb', 'file:///ws/..%5C..%5Cb', 'file:///ws/a\\..\\..\\b'],
    ...['file:///ws/a%00', 'file:///ws/%', 'file:///ws/%zz', 'file:///ws/%2', 'file:///%ff/ws/a'],
    ...['file://host/ws/a', 'file://localhost.example/ws/a', 'file://localhost:1/ws/a'],
    ...['file://user@localhost/ws/a', 'file://ws/a', 'zed:///ws/a', 'https://example.org/ws/a'],
    ...['data:text/plain,/ws/a', 'xfile:///ws/a', ' file:///ws/a', '/ws/a', 'untitled:/ws/a'],
  ])('%j stays as it is', (uri) => expect(map.uriToAgent(uri)).toBe(uri));

  test('encodes what it puts in, and nothing that may stand in a path', () => {
    const root = '/a b/%20/ü#?[]^`{|}"<>\\/-._~!$&\'()*+,;=:@';
    const odd = createPathMap({ hostRoots: ['/ws'], agentRoots: [root] });

    expect(odd.uriToAgent('file:///ws/x%20y')).toBe(
      "file:///a%20b/%2520/%C3%BC%23%3F%5B%5D%5E%60%7B%7C%7D%22%3C%3E%5C/-._~!$&'()*+,;=:@/x%20y",
    );
    expect(odd.uriToEditor('file:///a%20b/%2520')).toBe('file:///a%20b/%2520');
  });

  test('finds a root in whatever encoding', () => {
    const odd = createPathMap({ hostRoots: ['/a b/ü$'], agentRoots: ['/agent'] });

    expect(odd.uriToAgent('file:///a%20b/ü%24/x')).toBe('file:///agent/x');
    expect(odd.uriToAgent('file:///%61 b/%C3%BC$/x')).toBe('file:///agent/x');
  });

  test('encodes a root that is not well-formed as the file system would', () => {
    const odd = createPathMap({ hostRoots: ['/\ud800'], agentRoots: ['/agent'] });

    expect(odd.uriToEditor('file:///agent/x')).toBe('file:///%EF%BF%BD/x');
  });
});

describe('uriToEditor', () => {
  test.each([
    ['file:///agent/a%20b#L1', 'file:///link/ws/a%20b#L1'],
    ['file:///home/agent/workspace', 'file:///link/ws'],
    ['file:///ws/a', 'file:///ws/a'],
  ])('%j becomes %j', (uri, expected) => expect(map.uriToEditor(uri)).toBe(expected));
});

describe('a path map', () => {
  test('with one root for both sides is the identity', () => {
    const identity = createPathMap({ hostRoots: ['/ws', '/ws/'], agentRoots: ['/ws'] });

    expect(identity.isIdentity).toBe(true);
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: codeUnit }), oddPath('/ws')), (path) => {
        const { toAgent, toEditor, uriToAgent, uriToEditor } = identity;
        expect([toAgent, toEditor, uriToAgent, uriToEditor].map((translate) => translate(path))).toEqual(
          Array(4).fill(path),
        );
      }),
    );
  });

  test('with more than one root is not', () => {
    expect(map.isIdentity).toBe(false);
    expect(createPathMap({ hostRoots: ['/a', '/b'], agentRoots: ['/a', '/b'] }).isIdentity).toBe(false);
  });

  test('leaves what lies below the same first root as it is, byte for byte', () => {
    const same = createPathMap({ hostRoots: ['/ws'], agentRoots: ['/ws', '/home/agent/workspace'] });

    for (const path of ['/ws//a/./b/', '/ws/', '/ws/a/../b']) {
      expect(same.toAgent(path)).toBe(path);
      expect(same.toEditor(path)).toBe(path);
      expect(same.uriToEditor(`file://${path}%7e?#`)).toBe(`file://${path}%7e?#`);
    }
    expect(same.toEditor('/home/agent/workspace//a')).toBe('/ws/a');
  });

  test('looks at no URI that is longer than that of any path', () => {
    const uri = (bytes: number): string => `file:///ws/${'a/'.repeat(bytes / 2)}`;

    expect(map.uriToAgent(uri(4_000))).toContain('/agent/');
    expect(map.uriToAgent(uri(20_000))).toBe(uri(20_000));
  });

  test('takes the longest root that fits', () => {
    const nested = createPathMap({ hostRoots: ['/a', '/a/b/c', '/a/b'], agentRoots: ['/x'] });

    expect(['/a/b/c/d', '/a/b/d', '/a/d'].map(nested.toAgent)).toEqual(['/x/d', '/x/d', '/x/d']);
  });

  test('knows the root of the file system as a root', () => {
    const top = createPathMap({ hostRoots: ['/'], agentRoots: ['/agent'] });

    expect(['/', '/a', 'a'].map(top.toAgent)).toEqual(['/agent/', '/agent/a', 'a']);
    expect(['/agent', '/agent/', '/agent/a'].map(top.toEditor)).toEqual(['/', '/', '/a']);
    expect(top.uriToEditor('file:///agent')).toBe('file:///');
    expect(top.uriToAgent('file:///a')).toBe('file:///agent/a');
  });

  test('takes roots that are not normalised', () => {
    const loose = createPathMap({ hostRoots: ['/a//b/../ws/'], agentRoots: ['/agent/.'] });

    expect(loose.toAgent('/a/ws/x')).toBe('/agent/x');
    expect(loose.toEditor('/agent/x')).toBe('/a/ws/x');
  });

  test('there and back names the same file', () => {
    fc.assert(
      fc.property(fc.constantFrom('/link/ws', '/ws'), pathBelow(), (root, rest) => {
        const there = map.toAgent(`${root}/${rest}`);

        expect(isInside(withoutSlash(there), '/agent')).toBe(true);
        expect(withoutSlash(map.toEditor(there))).toBe(withoutSlash(posix.normalize(`/link/ws/${rest}`)));
      }),
    );
  });

  test('there and back names the same file by URI, with and without an encoding', () => {
    fc.assert(
      fc.property(pathBelow(), (rest) => {
        const path = posix.resolve(`/link/ws/${rest}`);
        const uri = pathToFileURL(path).href;
        fc.pre(!/[\\\0]|%5c|%00/i.test(decodeURIComponent(uri)));

        expect(map.uriToEditor(map.uriToAgent(uri))).toBe(uri);
        expect(map.uriToAgent(uri)).toBe(pathToFileURL(map.toAgent(path)).href);
      }),
    );
  });

  test('changes a path if and only if it names something inside', () => {
    fc.assert(
      fc.property(oddPath('/ws'), (path) => {
        const isBelow =
          path.startsWith('/') && ['/ws', '/link/ws'].some((root) => isInside(posix.resolve(path), root));

        expect(map.toAgent(path) !== path).toBe(isBelow);
        expect(isInside(posix.resolve(map.toAgent(path)), '/agent')).toBe(
          isBelow || isInside(posix.resolve(path), '/agent'),
        );
      }),
    );
  });

  test('maps a URI to nothing that a reader takes for another place', () => {
    fc.assert(
      fc.property(oddUri(), (uri) => {
        const mapped = map.uriToAgent(uri);
        fc.pre(mapped !== uri);

        const { pathname, host } = new URL(mapped);

        expect(host).toBe('');
        expect(isInside(withoutSlash(posix.normalize(decodeURIComponent(pathname))), '/agent')).toBe(true);
      }),
    );
  });
});

/** Segments that stay below where they start. */
function pathBelow(): fc.Arbitrary<string> {
  const name = fc
    .oneof(
      fc.string({ unit: 'grapheme', minLength: 1 }),
      fc.constantFrom('...', '..a', '.git', '%20', ' ', 'ws'),
    )
    .map((text) => text.replaceAll('/', '_'))
    .filter((text) => text !== '.' && text !== '..');
  const detour = name.map((text) => `${text}/..`);
  const segment = fc.oneof({ weight: 6, arbitrary: name }, detour, fc.constantFrom('', '.'));
  return fc.array(segment, { maxLength: 6 }).map((segments) => segments.join('/'));
}

/** Paths around a root: inside, beside, above, relative. */
function oddPath(root: string): fc.Arbitrary<string> {
  const segment = fc.constantFrom('', '.', '..', 'ws', 'link', 'agent', 'a', 'ws2', '.x');
  const start = fc.constantFrom('', '/', root, `${root}/`, '/link/ws', '/agent');
  return fc.tuple(start, fc.array(segment, { maxLength: 6 })).map(([first, rest]) => first + rest.join('/'));
}

function oddUri(): fc.Arbitrary<string> {
  const segment = fc.constantFrom(
    '',
    '.',
    '..',
    '%2e',
    '%2E.',
    'ws',
    '%77s',
    'a',
    '%2f',
    '..%2F',
    '\\',
    '%5c..',
    '%',
    '%zz',
  );
  const start = fc.constantFrom(
    'file:///ws/',
    'file://localhost/ws/',
    'file:/ws/',
    'file:///',
    'file:////',
    'FILE:///ws',
  );
  return fc.tuple(start, fc.array(segment, { maxLength: 6 })).map(([first, rest]) => first + rest.join('/'));
}

function withoutSlash(path: string): string {
  return path.length > 1 ? path.replace(/\/$/, '') : path;
}
