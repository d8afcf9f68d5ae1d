import { execFileSync } from 'node:child_process';
import type * as fs from 'node:fs';
import {
  cpSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import {
  gitFoldersOf,
  gitlinksOf,
  hiddenIn,
  packedReplacesIn,
  unreadIndexesIn,
  workTreesIn,
} from '../../../src/workspace/protect/git-layout';
import { git } from '../../support/git';
import { newFolder } from '../../support/temp-folder';

let root: string;

const gitlinksIn = (workTree: string) => gitFoldersOf(workTree).slice(0, 1).flatMap(gitlinksOf);

/** What `fill` has made, by format. */
const filled = new Map<string, string>();

/** A repository with many files and four repositories inside it; made once for each format, then copied. */
function fill(...format: string[]): void {
  const made = filled.get(format.join());
  if (made !== undefined) {
    cpSync(made, root, { recursive: true });
    git(root, 'update-index', '-q', '--refresh');
    return;
  }
  git(root, 'init', '-q', ...format);
  for (let i = 0; i < 40; i += 1) writeFileSync(join(root, `file${'x'.repeat(i)}`), '');
  for (const path of ['lib', 'deps/a', 'deps/ab', 'z'.repeat(200)]) {
    mkdirSync(join(root, path), { recursive: true });
    git(join(root, path), 'init', '-q', ...format);
    git(join(root, path), 'commit', '-q', '--allow-empty', '-m', 'first');
  }
  git(root, '-c', 'advice.addEmbeddedRepo=false', 'add', '.');
  const copy = newFolder();
  cpSync(root, copy, { recursive: true });
  filled.set(format.join(), copy);
}

const all = ['deps/a', 'deps/ab', 'lib', 'z'.repeat(200)];

beforeEach(() => (root = newFolder()));

test('work trees are looked for with the budget of one look', () => {
  git(root, 'init', '-q');
  const names = Array.from({ length: 12 }, (_, n) => `s${n}`);
  for (const name of names) {
    for (const part of ['objects', 'refs']) mkdirSync(join(root, name, '.git', part), { recursive: true });
    writeFileSync(join(root, name, '.git/HEAD'), 'ref: refs/heads/main\n');
  }
  const input = names.map((name) => `160000 ${'1'.repeat(40)} 0\t${name}\n`).join('');
  execFileSync('git', ['-C', root, 'update-index', '--index-info'], { input });
  let read = 0;
  const real: typeof fs = jest.requireActual('node:fs');
  const { opendirSync } = real;
  const opened = jest.spyOn(real, 'opendirSync').mockImplementation((path, ...options) => {
    if (!String(path).includes('/s')) return opendirSync(path, ...options);
    let left = 19_990;
    const readSync = (): fs.Dirent | null => (left-- > 0 ? ((read += 1), { name: 'f' } as fs.Dirent) : null);
    return { readSync, closeSync: () => undefined } as fs.Dir;
  });

  expect(workTreesIn(root)).toHaveLength(13);
  expect(read).toBeLessThan(220_000);
  opened.mockRestore();
});

describe('hiddenIn', () => {
  test.each([2, 4])('tells the files of which an index of version %d hides changes', (version) => {
    fill();
    git(root, 'update-index', '--index-version', String(version));
    git(root, 'update-index', '--assume-unchanged', 'filex');
    git(root, 'update-index', '--skip-worktree', 'filexx');
    expect(hiddenIn(root, workTreesIn(root))).toEqual(['filex', 'filexx']);
  });

  test('leaves out what is not checked out', () => {
    fill();
    git(root, 'sparse-checkout', 'set', '--no-cone', '/filex');
    git(root, 'update-index', '--assume-unchanged', 'filex');
    expect(git(root, 'ls-files', '-t')).toContain('S filexx');
    expect(hiddenIn(root, workTreesIn(root))).toEqual(['filex']);
  });
});

test('tells where references are packed that replace objects', () => {
  git(root, 'init', '-q');
  git(root, 'commit', '-q', '--allow-empty', '-m', '1');
  git(root, 'commit', '-q', '--allow-empty', '-m', '2');
  git(root, 'pack-refs', '--all');
  expect(packedReplacesIn(root, ['.git'])).toEqual([]);
  git(root, 'replace', 'HEAD', 'HEAD~');
  git(root, 'pack-refs', '--all');
  expect(packedReplacesIn(root, ['.git'])).toEqual(['.git/packed-refs']);
});

describe('gitlinksIn', () => {
  test.each([2, 4])('tells the repositories inside that an index of version %d names', (version) => {
    fill();
    git(root, 'update-index', '--index-version', String(version));
    expect(readFileSync(join(root, '.git/index')).readUInt32BE(4)).toBe(version);
    expect(gitlinksIn(root)).toEqual(all);
  });

  test('takes no longer for long paths of version 4 than for short ones', () => {
    git(root, 'init', '-q');
    const index = (length: number) => {
      const first = Buffer.alloc(64 + length);
      first.fill('a', 63, 63 + length);
      const same = Buffer.alloc(64);
      return Buffer.concat([
        Buffer.from('DIRC\0\0\0\x04\0\x0f\0\0'),
        first,
        ...Array<Buffer>(100_000).fill(same),
      ]);
    };
    const usFor = (length: number) => {
      writeFileSync(join(root, '.git/index'), index(length));
      const before = process.cpuUsage();
      gitlinksIn(root);
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    const least = (length: number) => Math.min(...[1, 2, 3].map(() => usFor(length)));
    expect(least(4_000)).toBeLessThan(2.5 * least(1));
  });

  test('reads version 3, which has longer entries', () => {
    fill();
    writeFileSync(join(root, 'a-new-one'), '');
    git(root, 'add', '--intent-to-add', 'a-new-one');
    expect(readFileSync(join(root, '.git/index')).readUInt32BE(4)).toBe(3);
    expect(gitlinksIn(root)).toEqual(all);
  });

  test('reads an index with the longer hashes', () => {
    fill('--object-format=sha256');
    expect(gitlinksIn(root)).toEqual(all);
  });

  test('reads the index of a linked worktree', () => {
    fill();
    git(root, 'commit', '-q', '-m', 'all');
    const tree = join(newFolder(), 'tree');
    git(root, 'worktree', 'add', '-q', tree);
    expect(gitlinksIn(tree)).toEqual(all);
  });

  test('tells nothing where there is no index, or something else in its place', () => {
    expect(gitlinksIn(root)).toEqual([]);
    git(root, 'init', '-q');
    expect(gitlinksIn(root)).toEqual([]);
    const index = join(root, '.git/index');
    for (const text of ['', 'DIRC', 'no index at all', `DIRC\0\0\0\x02\xff\xff\xff\xff${'x'.repeat(90)}`]) {
      writeFileSync(index, text, 'latin1');
      expect(gitlinksIn(root)).toEqual([]);
    }
    rmSync(index);
    execFileSync('mkfifo', [index]);
    expect(gitlinksIn(root)).toEqual([]);
  });

  test('fails for an index that cannot be read, which can name any', () => {
    fill();
    const index = join(root, '.git/index');
    renameSync(index, `${index}.own`);
    symlinkSync(`${index}.own`, index);

    expect(() => gitlinksIn(root)).toThrow('ELOOP');
    const trees = workTreesIn(root);
    expect(trees.map(({ path, isUnread }) => ({ path, isUnread }))).toEqual([{ path: root, isUnread: true }]);
    expect(unreadIndexesIn(root, trees)).toEqual(['.git/index']);
    expect(unreadIndexesIn(join(root, '..'), trees)).toEqual([join(basename(root), '.git/index')]);
  });

  test.each([[[]], [['--object-format=sha256']]])(
    'needs no configuration that can be read (git init %p)',
    (format) => {
      fill(...format);
      const config = join(root, '.git/config');
      renameSync(config, `${config}.own`);
      symlinkSync(`${config}.own`, config);
      expect(gitlinksIn(root)).toEqual(expect.arrayContaining(all));
    },
  );

  test('reads what it can of an index that is cut off anywhere', () => {
    fill();
    git(root, 'update-index', '--index-version', '4');
    const index = join(root, '.git/index');
    for (let size = readFileSync(index).length; size > 0; size -= 7) {
      truncateSync(index, size);
      expect(all).toEqual(expect.arrayContaining(gitlinksIn(root)));
    }
  });

  test('tells no path that leads out of the workspace', () => {
    fill();
    const index = join(root, '.git/index');
    const text = readFileSync(index, 'latin1').replace('deps/a\0', '../../\0');
    writeFileSync(index, text, 'latin1');
    expect(gitlinksIn(root)).toEqual(all.slice(1));
  });
});

test('reads both parts of a split index', () => {
  fill();
  git(root, 'update-index', '--split-index');
  expect(gitlinksIn(root)).toEqual(all);
});

test('workTreesIn tells repositories in repositories, and linked worktrees that lie inside', () => {
  fill();
  const inner = join(root, 'lib/inner');
  mkdirSync(inner);
  git(inner, 'init', '-q');
  git(inner, 'commit', '-q', '--allow-empty', '-m', 'first');
  git(join(root, 'lib'), '-c', 'advice.addEmbeddedRepo=false', 'add', 'inner');
  git(root, 'commit', '-q', '-m', 'all');
  git(root, 'worktree', 'add', '-q', 'tree');
  git(root, 'worktree', 'add', '-q', join(newFolder(), 'elsewhere'));
  const expected = ['', ...all.slice(0, 3), 'lib/inner', 'tree', 'z'.repeat(200)].map((path) =>
    join(root, path),
  );
  const trees = workTreesIn(root).map(({ path }) => path);
  expect(trees).toEqual(expect.arrayContaining(expected));
  expect(trees.every((tree) => tree === root || tree.startsWith(`${root}/`))).toBe(true);
});
