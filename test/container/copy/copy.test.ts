import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { git } from '../../support/git';
import { newFolder } from '../../support/temp-folder';
import { LocalCopy } from './local-copy';

const binary = Buffer.from(Array.from({ length: 100_000 }, (_, index) => (index * 7) % 256));

function write(folder: string, name: string, content: string | Buffer, mode = 0o644): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), content);
  chmodSync(join(folder, name), mode);
}

/** Content and mode of all files, by their names; of links where they lead. */
function filesIn(folder: string): Record<string, string> {
  const names = execFileSync('find', ['.', '-mindepth', '1', '-printf', '%P\\0'], {
    cwd: folder,
    encoding: 'latin1',
  });
  const found = names
    .split('\0')
    .filter(Boolean)
    .filter((name) => !/^\.git(\/|$)/.test(name))
    .map((name) => {
      const path = Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(name, 'latin1')]);
      try {
        return [name, `-> ${readlinkSync(path)}`];
      } catch {
        const { mode } = statSync(path);
        return statSync(path).isDirectory()
          ? [name, 'folder']
          : [name, `${(mode & 0o777).toString(8)} ${readFileSync(path).toString('base64')}`];
      }
    });
  return Object.fromEntries(found) as Record<string, string>;
}

/** As `work` makes it, which is done once. */
let made: string | undefined;

/** With two branches, and all that can differ from a commit. */
function worked(copy = new LocalCopy()): LocalCopy {
  made ??= work(new LocalCopy().root);
  // Not all names there are UTF-8.
  execFileSync('cp', ['-a', `${made}/.`, copy.root]);
  return copy;
}

function work(root: string): string {
  write(root, 'kept', 'kept');
  write(root, 'staged', 'before');
  write(root, 'unstaged', 'before');
  write(root, 'sub/gone', 'gone');
  write(root, 'is-file', 'file');
  write(root, 'is-folder/in', 'in');
  write(root, 'binary', 'no binary yet');
  write(root, 'run', 'run');
  write(root, '.gitignore', 'ignored\n');
  symlinkSync('kept', join(root, 'link'));
  git(root, 'add', '--all');
  git(root, 'commit', '--quiet', '-m', 'one');
  git(root, 'branch', 'other');
  write(root, 'second', 'second');
  git(root, 'add', '--all');
  git(root, 'commit', '--quiet', '-m', 'two');
  write(root, 'staged', 'after');
  git(root, 'add', 'staged');
  write(root, 'unstaged', 'after!');
  rmSync(join(root, 'sub/gone'));
  rmSync(join(root, 'is-file'));
  write(root, 'is-file/now-folder', 'x');
  rmSync(join(root, 'is-folder'), { recursive: true });
  write(root, 'is-folder', 'now a file');
  write(root, 'binary', binary);
  chmodSync(join(root, 'run'), 0o755);
  write(root, 'new/in a "folder"\n', 'new');
  write(root, 'ignored', 'ignored');
  write(root, 'empty', '');
  symlinkSync('/nowhere', join(root, 'new-link'));
  rmSync(join(root, 'link'));
  symlinkSync('second', join(root, 'link'));
  execFileSync('sh', ['-c', 'printf x > "$(printf \'n\\377me\')"'], { cwd: root });
  return root;
}

describe('a copy', () => {
  test('has all that is committed and all that is not, but what is ignored', async () => {
    const copy = worked();

    await copy.provide();

    const { ignored, ...expected } = filesIn(copy.root);
    expect(ignored).toBeDefined();
    delete expected.sub;
    expect(filesIn(copy.folder)).toEqual(expected);
    for (const shown of [
      ['log', '--all', '--format=%H %D'],
      ['status', '--porcelain', '--branch'],
    ]) {
      const [there, here] = [copy.folder, copy.root].map((folder) => git(folder, ...shown));
      // What was staged there is not.
      expect(there).toBe(here!.replace('M  staged', ' M staged'));
    }
    expect(copy.told).toEqual([expect.stringContaining('agents work in a copy of')]);
  });

  test.each([
    ['without a commit', () => undefined],
    ['without a branch', (root: string) => git(root, 'checkout', '--quiet', '--detach')],
  ])('can be made of a repository %s', async (what, change) => {
    const copy = new LocalCopy();
    write(copy.root, 'file', 'text');
    if (what === 'without a branch') {
      git(copy.root, 'add', '--all');
      git(copy.root, 'commit', '--quiet', '-m', 'one');
    }
    change(copy.root);

    await copy.provide();

    expect(filesIn(copy.folder)).toEqual(filesIn(copy.root));
    const shown = ['status', '--porcelain', '--branch'] as const;
    expect(git(copy.folder, ...shown)).toBe(git(copy.root, ...shown));
  });

  test.each([
    [
      'of a shallow clone',
      (from: string, to: string) => git(from, 'clone', '--quiet', '--depth=1', `file://${from}`, to),
    ],
    [
      'of a linked worktree',
      (from: string, to: string) => git(from, 'worktree', 'add', '--quiet', to, 'other'),
    ],
  ])('can be made %s', async (_, make) => {
    const first = worked();
    const copy = new LocalCopy();
    rmSync(copy.root, { recursive: true });
    make(first.root, copy.root);
    write(copy.root, 'new', 'new');

    await copy.provide();

    expect(filesIn(copy.folder)).toEqual(filesIn(copy.root));
    expect(git(copy.folder, 'rev-list', '--count', 'HEAD')).toBe(
      git(copy.root, 'rev-list', '--count', 'HEAD'),
    );
    git(copy.folder, 'fsck');
  });

  test('lacks other repositories, which is told', async () => {
    const copy = worked();
    git(copy.root, 'init', '--quiet', 'inner');
    write(copy.root, 'inner/file', 'inner');
    git(copy.root, 'update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},module`);

    await copy.provide();

    expect(filesIn(copy.folder)).not.toHaveProperty('inner/file');
    expect(copy.told[0]).toBe('not copied, as they are repositories of their own: "inner/", "module"');
  });

  test('stays as the agents have left it', async () => {
    const copy = worked();
    await copy.provide();
    write(copy.folder, 'kept', 'by the agent');

    await copy.provide();

    expect(readFileSync(join(copy.folder, 'kept'), 'utf8')).toBe('by the agent');
    expect(copy.told).toHaveLength(1);
  });

  test.each([
    [
      'a commit',
      (root: string) => git(root, 'commit', '--quiet', '--all', '-m', 'three'),
      /was made at \w{10}, and here is \w{10} now/,
    ],
    ['a change', (root: string) => write(root, 'kept', 'changed'), /has other uncommitted changes now/],
  ])('is told from %s that came later', async (_, change, words) => {
    const copy = worked();
    await copy.provide();
    change(copy.root);

    await copy.provide();

    expect(copy.told).toEqual([expect.anything(), expect.stringMatching(words)]);
  });

  test('that has broken off is made anew', async () => {
    const copy = worked();
    mkdirSync(join(copy.folder, '.git/objects'), { recursive: true });
    write(copy.folder, '.git/cai-copying', '');
    write(copy.folder, 'half', 'half');

    await copy.provide();

    expect(filesIn(copy.folder).half).toBeUndefined();
    expect(git(copy.folder, 'status', '--porcelain')).toContain(' M unstaged');
    expect(copy.told[0]).toContain('is not whole: it is made again');
  });

  test('that could not be read to its end is not taken for one', async () => {
    const copy = worked();
    const changing = copy.connection.run;
    // It grows shorter after it was looked at.
    copy.connection.run = async (command) => {
      if ((await command).argv[1] === 'take') write(copy.root, 'binary', '');
      return await changing(command);
    };

    await expect(copy.provide()).rejects.toThrow('was changed while it was copied');
    copy.connection.run = changing;
    await copy.provide();

    expect(readFileSync(join(copy.folder, 'binary'), 'utf8')).toBe('');
    expect(copy.told[0]).toContain('is not whole');
  });

  test('is made once where two want it', async () => {
    const copy = worked();

    await Promise.all([copy.provide(), copy.provide()]);

    expect(git(copy.folder, 'status', '--porcelain')).toContain(' M unstaged');
    git(copy.folder, 'fsck');
  });

  test('leaves alone what it has not made', async () => {
    const copy = worked();
    write(copy.folder, 'theirs', 'theirs');

    await copy.provide();

    expect(filesIn(copy.folder)).toEqual({ theirs: expect.anything() as string });
    expect(copy.told).toEqual([expect.stringContaining('is not the copy that cai has made')]);
  });

  test('needs git inside', async () => {
    const folder = newFolder();
    const copy = worked(new LocalCopy(folder));

    await expect(copy.provide()).rejects.toMatchObject({
      code: 'IMAGE',
      message: expect.stringContaining('there is no git in the image') as string,
    });
  });
});

describe('what comes back', () => {
  test('is each branch with more commits, and what is not committed', async () => {
    const copy = worked();
    await copy.provide();
    const before = [git(copy.root, 'for-each-ref', 'refs/heads'), filesIn(copy.root)];
    const { folder } = copy;
    git(folder, 'add', '--all');
    git(folder, 'commit', '--quiet', '-m', 'by the agent');
    git(folder, 'branch', 'same-as-here', 'other');
    git(folder, 'checkout', '--quiet', '-b', 'größer/2', 'other');
    write(folder, 'more', 'more', 0o755);
    git(folder, 'add', 'more');
    git(folder, 'commit', '--quiet', '-m', 'more');
    write(folder, 'left', 'left');
    rmSync(join(folder, 'kept'));
    const inside = [git(folder, 'status', '--porcelain'), filesIn(folder)];

    const { brought, refused } = await copy.pull();

    expect([...brought].sort((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
      { name: 'cai/größer/2', commits: 1 },
      { name: 'cai/main', commits: 1 },
      { name: 'cai/uncommitted', commits: 2 },
    ]);
    expect(refused).toEqual([]);
    expect(git(copy.root, 'show', 'cai/uncommitted:left')).toBe('left');
    expect(git(copy.root, 'diff', '--name-status', 'cai/größer/2', 'cai/uncommitted')).toContain('D\tkept');
    // Neither here nor there is anything else.
    expect([git(copy.root, 'for-each-ref', 'refs/heads'), filesIn(copy.root)]).toEqual(before);
    expect([git(folder, 'status', '--porcelain'), filesIn(folder)]).toEqual(inside);
  });

  test('is the same when nothing has changed', async () => {
    const copy = worked();
    await copy.provide();
    write(copy.folder, 'left', 'left');

    const first = await copy.pull();
    const id = git(copy.root, 'rev-parse', 'cai/uncommitted');

    expect(await copy.pull()).toEqual(first);
    expect(git(copy.root, 'rev-parse', 'cai/uncommitted')).toBe(id);
  });

  test('has a file that was changed in the moment in which the index was written, with as many bytes', async () => {
    const copy = worked();
    await copy.provide();
    const [file, index] = ['raced', '.git/index'].map((name) => join(copy.folder, name)) as [string, string];
    const at = new Date('2026-01-01T00:00:00Z');
    git(copy.folder, 'config', 'core.trustctime', 'false');
    write(copy.folder, 'raced', 'before');
    utimesSync(file, at, at);
    git(copy.folder, 'add', 'raced');
    write(copy.folder, 'raced', 'after!');
    for (const each of [file, index]) utimesSync(each, at, at);

    await copy.pull();

    expect(git(copy.root, 'show', 'cai/uncommitted:raced')).toBe('after!');
  });

  test('is nothing where nothing was done', async () => {
    const copy = new LocalCopy();
    write(copy.root, 'file', 'text');
    git(copy.root, 'add', '--all');
    git(copy.root, 'commit', '--quiet', '-m', 'one');
    await copy.provide();

    expect(await copy.pull()).toEqual({ brought: [], refused: [] });
  });

  test('is also on no branch', async () => {
    const copy = worked();
    await copy.provide();
    git(copy.folder, 'checkout', '--quiet', '--detach');
    git(copy.folder, 'add', '--all');
    git(copy.folder, 'commit', '--quiet', '-m', 'nowhere');

    expect((await copy.pull()).brought).toEqual([{ name: 'cai/detached', commits: 1 }]);
  });

  test('has a limit', async () => {
    const copy = worked();
    await copy.provide();

    await expect(copy.pull(700)).rejects.toThrow('is larger than 700 bytes');
    expect(git(copy.root, 'for-each-ref', 'refs/remotes')).toBe('');
  });

  test('has failed where there is no repository any more', async () => {
    const copy = worked();
    await copy.provide();
    renameSync(join(copy.folder, '.git'), join(copy.folder, 'elsewhere'));

    await expect(copy.pull()).rejects.toThrow('there is no git repository any more');
  });
});
