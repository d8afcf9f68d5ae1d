import { linkSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  allProtectedIn,
  parentsOf,
  protectedInGitFolder,
  protectedPathsIn,
  protectedPatterns,
} from '../../../src/workspace/protect/protected-paths';
import { quoted } from '../../../src/system/quoted';
import { git } from '../../support/git';
import { newFolder } from '../../support/temp-folder';

let root: string;

function put(path: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  if (path.endsWith('/')) mkdirSync(join(root, path), { recursive: true });
  else writeFileSync(join(root, path), '');
}

/** Puts many files into the root, which end with the number of each: links to one, as that takes least time. */
function fill(count: number, start = '', ending = ''): void {
  const pathOf = (i: number) => `${start}${i}${ending}`;
  put(pathOf(0));
  for (let i = 1; i < count; i++) linkSync(join(root, pathOf(0)), join(root, pathOf(i)));
}

function found(patterns?: readonly string[]): string[] {
  return protectedPathsIn(root, patterns).map(({ path, kind }) => `${kind} ${path}`);
}

beforeEach(() => (root = newFolder()));

describe('protectedPathsIn', () => {
  test('finds everything on the list that is there, and nothing else', () => {
    const folders = '.husky .vscode .idea .zed .devcontainer .containai .cursor .codex .run'.split(' ');
    const below = ['.claude/hooks', '.claude/commands', '.claude/agents', '.github/hooks'];
    const files = [
      ...['.envrc', 'mise.toml', '.mise.toml', 'mise.local.toml', '.config/mise.toml'],
      ...['.gemini/settings.json', 'lefthook.yml', '.yarnrc.yml', '.mcp.json', '.claude/settings.json'],
      ...['.claude/settings.local.json', 'all.code-workspace'],
    ];
    for (const folder of [...folders, ...below]) put(`${folder}/`);
    for (const file of [...files, '.claude/notes.md', '.github/workflows/ci.yml', 'Makefile']) put(file);

    expect(found()).toEqual(
      [
        ...[...folders, ...below].map((path) => `folder ${path}`),
        ...files.map((path) => `file ${path}`),
      ].sort((a, b) => (a.split(' ')[1]! < b.split(' ')[1]! ? -1 : 1)),
    );
  });

  test('finds what git runs in the repository, its worktrees and its submodules, whatever their names', () => {
    for (const folder of ['.git', '.git/modules/deps/sub', '.git/modules/a/modules/b']) {
      for (const file of ['HEAD', 'config', 'config.worktree', 'info/attributes', 'objects/ab/config']) {
        put(`${folder}/${file}`);
      }
      put(`${folder}/hooks/`);
    }
    for (const file of ['HEAD', 'commondir', 'config.worktree', 'gitdir']) put(`.git/worktrees/w/${file}`);
    const parts = ['file config', 'file config.worktree', 'folder hooks', 'file info/attributes'];
    const inFolder = (folder: string) => parts.map((part) => part.replace(' ', ` ${folder}/`));

    expect(found()).toEqual([
      ...inFolder('.git'),
      ...inFolder('.git/modules/a/modules/b'),
      ...inFolder('.git/modules/deps/sub'),
      'file .git/worktrees/w/commondir',
      'file .git/worktrees/w/config.worktree',
    ]);
  });

  test('finds submodules that are named like the folders in which git stores things', () => {
    for (const file of ['HEAD', 'objects/ab/c', 'config']) put(`.git/modules/packages/logs/${file}`);
    put('.git/modules/refs/objects/config');
    expect(found()).toEqual([
      'file .git/modules/packages/logs/config',
      'file .git/modules/refs/objects/config',
    ]);
    // An agent can make the folder above look like a git folder.
    for (const file of ['HEAD', 'objects/', 'config']) put(`.git/modules/packages/${file}`);
    expect(found()).toContain('file .git/modules/packages/logs/config');
  });

  test('finds what a real repository with a worktree has', () => {
    git(root, 'init', '-q');
    git(root, 'commit', '-q', '--allow-empty', '-m', 'first');
    git(root, 'worktree', 'add', '-q', join(newFolder(), 'tree'));

    expect(found()).toEqual(
      expect.arrayContaining(['file .git/config', 'folder .git/hooks', 'file .git/worktrees/tree/commondir']),
    );
  });

  test('finds what git runs in each repository inside that the index names', () => {
    put('deps/lib/');
    git(root, 'init', '-q');
    git(join(root, 'deps/lib'), 'init', '-q');
    git(join(root, 'deps/lib'), 'commit', '-q', '--allow-empty', '-m', 'first');
    git(root, 'add', 'deps/lib');
    expect(found()).toEqual(
      expect.arrayContaining(['file deps/lib/.git/config', 'folder deps/lib/.git/hooks']),
    );

    git(join(root, 'deps'), 'init', '-q', '--separate-git-dir', join(newFolder(), 'elsewhere'), 'lib');
    expect(found()).toContain('file deps/lib/.git');
  });

  test('counts a .git file itself', () => {
    put('.git');
    expect(found()).toEqual(['file .git']);
  });

  test('follows no link, and tells the first part of a way that is one', () => {
    const elsewhere = newFolder();
    mkdirSync(join(elsewhere, 'hooks'));
    writeFileSync(join(elsewhere, 'config'), '');
    for (const name of ['.git', '.claude', '.vscode']) symlinkSync(elsewhere, join(root, name));

    expect(found()).toEqual(['link .claude', 'link .git', 'link .vscode']);
  });

  test('finds a git folder that a .git file or link names, with the common one behind it', () => {
    git(root, 'init', '-q', '--separate-git-dir', join(root, '.repo'));
    expect(found()).toEqual(expect.arrayContaining(['file .git', 'file .repo/config', 'folder .repo/hooks']));
    rmSync(join(root, '.git'));
    symlinkSync('.repo', join(root, '.git'));
    expect(found()).toEqual(expect.arrayContaining(['link .git', 'file .repo/config']));
    expect(found()).not.toContain('folder .repo');
    rmSync(join(root, '.git'));
    rmSync(join(root, '.repo'), { recursive: true });
    git(root, 'init', '-q', '--bare', '.bare');
    const tree = git(join(root, '.bare'), 'hash-object', '-t', 'tree', '-w', '/dev/null').trim();
    const commit = git(join(root, '.bare'), 'commit-tree', '-m', 'first', tree).trim();
    git(join(root, '.bare'), 'worktree', 'add', '-q', '../tree', commit);
    writeFileSync(join(root, '.git'), 'gitdir: .bare\n');
    expect(found()).toEqual(
      expect.arrayContaining(['file .bare/config', 'file .bare/worktrees/tree/commondir', 'file tree/.git']),
    );
  });

  test('finds what git runs in a folder that has become a git folder itself', () => {
    for (const path of ['HEAD', 'objects/', 'refs/', 'config', 'hooks/']) put(path);
    expect(found()).toEqual(['file config', 'folder hooks']);
  });

  test('finds submodules of linked worktrees', () => {
    for (const path of ['.git/HEAD', '.git/worktrees/w/commondir', '.git/worktrees/w/modules/sub/config'])
      put(path);
    expect(found()).toEqual(expect.arrayContaining(['file .git/worktrees/w/modules/sub/config']));
  });

  test('finds what links in protected folders lead to, unless that is outside', () => {
    for (const path of ['.git/HEAD', '.git/hooks/', 'scripts/pre-commit', 'conf/']) put(path);
    symlinkSync('../../scripts/pre-commit', join(root, '.git/hooks/pre-commit'));
    symlinkSync('/etc/passwd', join(root, '.git/hooks/post-commit'));
    symlinkSync('conf', join(root, '.vscode'));
    expect(found()).toEqual(['folder .git/hooks', 'link .vscode', 'folder conf', 'file scripts/pre-commit']);
  });

  test('takes no longer for a pattern with many stars', () => {
    put('a'.repeat(200));
    expect(found([`${'*a'.repeat(30)}*b`])).toEqual([]);
    expect(found([`${'*a'.repeat(30)}*`])).toEqual([`file ${'a'.repeat(200)}`]);
  });

  test('does not lose a submodule whose HEAD an agent has taken away', () => {
    put('.git/HEAD');
    put('.git/modules/sub/config');
    expect(found()).toEqual(['file .git/modules/sub/config']);
  });

  test('protects a folder as a whole where there is too much in it to be listed', () => {
    for (let i = 0; i < 70; i += 1) {
      put(`.git/modules/m${i}/config`);
      put(`.git/worktrees/w${i}/commondir`);
      put(`.claude/settings${i}.json`);
    }
    expect(found()).toEqual(['folder .claude', 'folder .git/modules', 'folder .git/worktrees']);
  });

  test('does not even list a folder that an agent has filled: somebody waits', () => {
    put('.claude/settings.json');
    fill(20_000, '.claude/');
    fill(20_001, '.git/modules/');

    expect(found()).toEqual(['folder .claude', 'folder .git/modules']);
  });

  test('tells what has come into being between two looks', () => {
    put('.git/config');
    const before = found();
    put('.vscode/tasks.json');
    put('.git/commondir');

    expect(found().filter((each) => !before.includes(each))).toEqual([
      'file .git/commondir',
      'folder .vscode',
    ]);
  });

  test('takes other patterns, in which a star stands for a part of one name', () => {
    put('packages/a/.vscode/');
    put('packages/b/.vscode/');
    put('tools/run.sh');
    rmSync(join(root, 'packages/b'), { recursive: true });

    expect(found([...protectedPatterns, 'packages/*/.vscode', 'tools/*.sh', 'tools/*.md'])).toEqual([
      'folder packages/a/.vscode',
      'file tools/run.sh',
    ]);
  });
});

describe('allProtectedIn', () => {
  test('tells what is on the list and what is added', () => {
    for (const path of ['.vscode/', 'deploy/', 'tools/']) put(path);
    expect(allProtectedIn(root, ['deploy']).map(({ path }) => path)).toEqual(['.vscode', 'deploy']);
  });

  test.each([
    ['more names that fit than can be mounted', 65, '.sh', '*.sh'],
    ['more names than can be looked at', 20_001, '', '*.code-workspace'],
  ])('refuses a root with %s', (_, count, ending, pattern) => {
    fill(count, '', ending);
    expect(() => allProtectedIn(root, ['*.sh'])).toThrow(
      `${quoted(root)} has more than 64 names that fit ${quoted(pattern)}, or more than 20000 in all`,
    );
  });
});

test('allProtectedIn refuses a root whose index cannot be read', () => {
  put('.git/HEAD');
  symlinkSync('elsewhere', join(root, '.git/index'));
  expect(() => allProtectedIn(root, [])).toThrow(
    `${quoted(join(root, '.git/index'))} cannot be read, so that repositories inside that one cannot be protected`,
  );
});

test('protectedInGitFolder tells the same relative to a git folder', () => {
  for (const file of ['HEAD', 'config', 'hooks/pre-commit', 'modules/sub/config']) put(file);

  expect(protectedInGitFolder(root).map(({ path }) => path)).toEqual([
    'config',
    'hooks',
    'modules/sub/config',
  ]);
});

test('parentsOf tells every folder on the way, the outermost first', () => {
  expect(parentsOf('.git/modules/sub/config')).toEqual(['.git', '.git/modules', '.git/modules/sub']);
  expect(parentsOf('.envrc')).toEqual([]);
});
