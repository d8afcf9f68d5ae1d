import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { takeBundle } from '../../../src/container/copy/bundle';
import { Repository } from '../../../src/container/copy/repository';
import { Host } from '../../../src/system/host';
import { git } from '../../support/git';
import { newFolder } from '../../support/temp-folder';

let home: string;
let root: string;
let repository: Repository;

/** A repository with a commit, which tests copy. */
const fresh = newFolder();
/** That of an agent which has added a file to it. */
const usual = newFolder();
beforeAll(() => {
  git(fresh, 'init', '--quiet', '--template=', '--initial-branch=main');
  git(fresh, 'commit', '--quiet', '--allow-empty', '-m', 'one');
  cpSync(fresh, usual, { recursive: true });
  commitIn(usual, { file: 'by the agent' });
});

beforeEach(async () => {
  home = newFolder();
  root = join(home, 'work');
  cpSync(fresh, root, { recursive: true });
  repository = await opened();
});

const opened = () => Repository.at(root, new Host({ HOME: home, PATH: process.env.PATH }));

/** All that names something, and where HEAD is. */
const refs = () => git(root, 'for-each-ref') + readFileSync(join(root, '.git/HEAD'), 'utf8');

/** A repository of an agent that has these files in a commit on top of ours. */
function agents(files?: Readonly<Record<string, string>>): string {
  const folder = join(newFolder(), 'agent');
  cpSync(files === undefined ? usual : root, folder, { recursive: true });
  if (files !== undefined) commitIn(folder, files);
  return folder;
}

function commitIn(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  git(folder, 'add', '--all');
  git(folder, 'commit', '--quiet', '-m', 'by the agent');
}

/** A bundle with these names, whatever they are, for what the agent has on its branch. */
function bundleOf(folder: string, names: readonly string[], more = ''): Buffer {
  const id = git(folder, 'rev-parse', 'main').trim();
  const pack = packOf(folder, `${id}\n^${id}~\n`);
  const lines = names.map((name) => `${id} ${name}\n`).join('');
  return Buffer.concat([Buffer.from(`# v2 git bundle\n${more}${lines}\n`), pack]);
}

function packOf(folder: string, input: string, ...options: readonly string[]): Buffer {
  const args = ['-C', folder, 'pack-objects', '--stdout', '--quiet', ...options];
  const { stdout, stderr } = spawnSync('git', options.length > 0 ? args : [...args, '--revs'], { input });
  if (stdout.length === 0) throw new Error(stderr.toString());
  return stdout;
}

/** An object that git would not make by itself. */
function objectIn(folder: string, kind: string, content: Buffer | string): string {
  const { stdout } = spawnSync('git', ['-C', folder, 'hash-object', '-w', '--literally', '-t', kind, '--stdin'], { input: content }); // prettier-ignore
  return stdout.toString().trim();
}

const take = (bundle: Buffer, maxBytes = 1e9) => takeBundle(repository, Readable.from([bundle]), maxBytes);

test('brings a branch, and nothing else of ours is changed', async () => {
  const before = refs();

  const { brought } = await take(bundleOf(agents(), ['refs/heads/main']));

  expect(brought).toEqual([{ name: 'cai/main', commits: 1 }]);
  expect(git(root, 'show', 'cai/main:file')).toBe('by the agent');
  expect(refs().replace(/^.*refs\/remotes\/cai\/main\n/m, '')).toBe(before);
  expect(existsSync(join(root, 'file'))).toBe(false);
});

test.each([
  ['main', 'main/deep'],
  ['main/deep', 'main'],
])('brings a branch after one that its name has no room beside: %s, %s', async (first, second) => {
  await take(bundleOf(agents(), [`refs/heads/${first}`, 'refs/heads/other']));

  expect((await take(bundleOf(agents(), [`refs/heads/${second}`]))).brought).toHaveLength(1);
  const names = git(root, 'for-each-ref', '--format=%(refname:lstrip=3)', 'refs/remotes/cai');
  expect(names.trim().split('\n')).toEqual([second, 'other']);
});

const strangeNames = [
  'refs/heads/../x',
  'refs/heads/../../../outside',
  'refs/heads/x/../../tags/y',
  'refs/heads/.hidden',
  'refs/heads/x.lock',
  'refs/heads/x/',
  'refs/heads/-x',
  'refs/heads/a b',
  'refs/heads/$(touch x)',
  'refs/heads/x;y',
  'refs/heads/\u001b[31mred',
  'refs/heads/\u202egnp',
  'refs/heads/x\ry',
  'refs/heads/HEAD',
  'refs/heads/uncommitted',
  'refs/heads/uncommitted/x',
  `refs/heads/${'x'.repeat(300)}`,
  'refs/remotes/origin/main',
  'refs/tags/v1',
  'refs/stash',
  'refs/replace/1234',
  'refs/cai/other',
  '../config',
  'FETCH_HEAD',
];

test('takes nothing by such names', async () => {
  const before = refs();

  expect(await take(bundleOf(agents(), strangeNames))).toEqual({ brought: [], refused: strangeNames });

  expect(refs()).toBe(before);
});

test.each([
  ['HEAD', 'detached'],
  ['refs/heads/main', 'main'],
  ['refs/heads/refs/heads/main', 'refs/heads/main'],
  ['refs/heads/größe/#1'.replace('#', ''), 'größe/1'],
  ['refs/cai/uncommitted', 'uncommitted'],
])('%s comes below refs/remotes/cai alone', async (name, own) => {
  await take(bundleOf(agents(), [name]));

  expect(git(root, 'for-each-ref', '--format=%(refname)')).toBe(`refs/heads/main\nrefs/remotes/cai/${own}\n`);
});

test.each([
  ['no bundle', () => Buffer.from('hello\n\nPACK'), 'it is no bundle of git'],
  ['a later version', () => Buffer.from('# v4 git bundle\n\n'), 'it is no bundle of git'],
  ['a capability', () => Buffer.from('# v3 git bundle\n@filter=blob:none\n\n'), 'that we know'],
  ['a line without a name', () => Buffer.from('# v2 git bundle\nx\n\n'), 'that we know'],
  ['an endless header', () => Buffer.from(`# v2 git bundle\n${'x'.repeat(2 ** 21)}`), 'it names too much'],
  ['a broken header', () => Buffer.from('# v2 git bundle\n'), 'it has broken off'],
  ['many branches', () => bundleOf(agents(), Array.from({ length: 1001 }, (_, index) => `refs/heads/b${index}`)), 'more than 1000'],
  ['a broken pack', () => bundleOf(agents(), ['refs/heads/main']).subarray(0, -30), 'git failed'],
  ['a damaged pack', () => { const all = bundleOf(agents(), ['refs/heads/main']); all[all.length - 40]! ^= 1; return all; }, 'git failed'],
  ['a name that collides with another', () => bundleOf(agents(), ['refs/heads/a', 'refs/heads/a/b']), 'git failed'],
] as const)('refuses %s, and changes no name', async (_, bundle, words) => {
  const before = refs();

  await expect(take(bundle())).rejects.toMatchObject({
    code: 'WORKSPACE',
    message: expect.stringContaining(words) as string,
  });

  expect(refs()).toBe(before);
}); // prettier-ignore

test('looks at each byte of a header once, though it comes in single ones', async () => {
  const whole = bundleOf(agents(), ['refs/heads/main']);
  const looks = jest.spyOn(Buffer, 'concat');

  const stream = Readable.from([...whole].map((byte) => Buffer.from([byte])));
  const { brought } = await takeBundle(repository, stream, 1e9);

  expect(brought).toEqual([{ name: 'cai/main', commits: expect.any(Number) as number }]);
  expect(looks.mock.calls.length).toBeLessThan(50);
  looks.mockRestore();
});

test('refuses a huge one', async () => {
  const before = refs();

  await expect(take(bundleOf(agents(), ['refs/heads/main']), 100)).rejects.toThrow('git failed');

  expect(refs()).toBe(before);
});

test.each([
  ['.git', 'hasDotgit'],
  ['..', 'hasDotdot'],
])('refuses a tree with the entry %s', async (name, words) => {
  const folder = agents();
  const blob = git(folder, 'rev-parse', 'main:file').trim();
  const tree = objectIn(
    folder,
    'tree',
    Buffer.concat([Buffer.from(`100644 ${name}\0`), Buffer.from(blob, 'hex')]),
  );
  const commit = git(folder, 'commit-tree', tree, '-m', 'x').trim();
  const pack = packOf(folder, [blob, tree, commit].join('\n'), '--no-reuse-delta');
  const header = `# v2 git bundle\n${commit} refs/heads/main\n\n`;

  await expect(take(Buffer.concat([Buffer.from(header), pack]))).rejects.toThrow(words);

  expect(git(root, 'for-each-ref', 'refs/remotes')).toBe('');
});

test('refuses a branch that is no commit, and one of which something is missing', async () => {
  const folder = agents();
  const [blob, commit] = ['main:file', 'main'].map((name) => git(folder, 'rev-parse', name).trim());
  const bundle = (id: string, objects: string) =>
    Buffer.concat([
      Buffer.from(`# v2 git bundle\n${id} refs/heads/main\n\n`),
      packOf(folder, objects, '--no-reuse-delta'),
    ]);

  await expect(take(bundle(blob!, blob!))).rejects.toThrow('a branch is no commit');
  await expect(take(bundle(commit!, commit!))).rejects.toThrow('git failed');
  await expect(take(bundle('1'.repeat(40), commit!))).rejects.toThrow();

  expect(git(root, 'for-each-ref', 'refs/remotes')).toBe('');
});

test('runs nothing that the repository names', async () => {
  const trap = join(home, 'trap');
  writeFileSync(trap, '#!/bin/sh\ntouch "$(dirname "$0")/sprung"\ncat\n');
  chmodSync(trap, 0o755);
  mkdirSync(join(root, '.git/hooks'));
  for (const hook of ['reference-transaction', 'post-checkout', 'pre-auto-gc']) symlinkSync(trap, join(root, '.git/hooks', hook)); // prettier-ignore
  const keys =
    'core.fsmonitor core.pager core.sshCommand core.editor gc.recentObjectsHook core.alternateRefsCommand';
  for (const key of [...keys.split(' '), 'filter.x.clean', 'filter.x.process'])
    git(root, 'config', key, trap);
  git(root, 'config', 'gc.auto', '1');

  await take(bundleOf(agents(), ['refs/heads/main']));

  expect(git(root, 'rev-parse', 'cai/main')).toMatch(/^\w{40}$/m);
  expect(existsSync(join(home, 'sprung'))).toBe(false);
});

test('writes nothing through a link in the git folder', async () => {
  repository = await opened();
  const outside = newFolder();
  renameSync(join(root, '.git/refs'), join(outside, 'refs'));
  symlinkSync(join(outside, 'refs'), join(root, '.git/refs'));

  await expect(take(bundleOf(agents(), ['refs/heads/main']))).rejects.toThrow('leads elsewhere');
});

test('a name of ours that stands for another is replaced, and not followed', async () => {
  git(root, 'symbolic-ref', 'refs/remotes/cai/main', 'refs/heads/main');
  const before = git(root, 'rev-parse', 'main');

  await take(bundleOf(agents(), ['refs/heads/main']));

  expect(git(root, 'rev-parse', 'main')).toBe(before);
  expect(git(root, 'rev-parse', 'cai/main')).not.toBe(before);
});
