import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { findOuterGit } from '../../../src/workspace/git-folder';
import { record, recorded } from '../../../src/workspace/records';
import { findWorkspace } from '../../../src/workspace/root';
import { rememberAgentFolders } from '../../../src/system/paths/agent-folders';
import {
  changesIn,
  makeWorktree,
  remakeWorktree,
  removeUnchanged,
  removeWorktree,
  worktreeAt,
  worktreesOf,
  type Worktree,
} from '../../../src/workspace/worktrees/worktrees';
import { git } from '../../support/git';
import { Repository } from './repository';

let user: Repository;
let state: string;
beforeEach(() => {
  user = new Repository();
  state = user.host.folders.state;
});

const config = (more: { folder?: string } = {}) => ({ copy: [], ...more });
const make = async (name?: string): Promise<Worktree> =>
  await makeWorktree(
    user.root,
    { isOfSession: true, ...(name !== undefined && { name }) },
    config(),
    user.host,
  );

describe('makeWorktree', () => {
  test('makes a workspace of its own, with the common git folder of the repository', async () => {
    const worktree = await make('one');

    const { folder } = worktree;
    expect(folder).toBe(join(state, 'session-worktrees/shop-one'));
    expect(git(folder, 'branch', '--show-current')).toBe('cai/one\n');
    expect(await findWorkspace(folder, { host: user.host })).toMatchObject({ root: folder });
    expect(await findOuterGit(folder, user.host)).toEqual({
      git: { folder: join(user.root, '.git'), worktree: 'worktrees/shop-one' },
    });
    expect(worktreeAt(state, folder)).toEqual(worktree);
    expect(worktreesOf(state, user.root)).toEqual([worktree]);
    expect(worktreesOf(state, user.folder)).toEqual([]);
    await expect(make('one')).rejects.toThrow('exists: choose another name');
  });

  test('carries over what the user trusts in the repository, for that content alone', async () => {
    record(state, 'trusted', join(user.root, '.containai/config.toml'), 'digest');
    const { folder } = await make();
    expect(recorded(state, 'trusted', join(folder, '.containai/config.toml'))).toBe('digest');
  });

  test('refuses a folder in which an agent can write', async () => {
    const theirs = join(user.folder, 'theirs');
    mkdirSync(theirs);
    rememberAgentFolders(state, [theirs]);
    for (const folder of [join(user.root, 'trees'), join(theirs, 'trees')])
      await expect(makeWorktree(user.root, { isOfSession: true }, config({ folder }), user.host)).rejects.toThrow('an agent can write'); // prettier-ignore
  });
});

describe('removeUnchanged', () => {
  test('removes the folder and the branch, whatever is checked out in the repository by now', async () => {
    const worktree = await make();
    git(user.root, 'switch', '-q', '--orphan', 'empty');

    expect(await removeUnchanged(worktree, user.host)).toBe(true);

    expect(existsSync(worktree.folder)).toBe(false);
    expect(user.branches).toEqual(['main']);
    expect(git(user.root, 'worktree', 'list').trim().split('\n')).toHaveLength(1);
    expect(await removeUnchanged(worktree, user.host)).toBe(false);
  });

  const changes: readonly [string, (folder: string) => void][] = [
    ['a changed file', (folder) => user.write('file', 'two\n', folder)],
    ['a new file', (folder) => user.write('new', '', folder)],
    ['a commit', (folder) => git(folder, 'commit', '-q', '--allow-empty', '-m', 'two')],
    ['another branch', (folder) => git(folder, 'switch', '-q', '-c', 'other')],
    [
      'a submodule',
      (folder) => {
        git(folder, 'submodule', '--quiet', 'add', user.root, 'part');
        git(folder, 'rm', '-q', '-f', '--cached', 'part', '.gitmodules');
        rmSync(join(folder, 'part'), { recursive: true });
        rmSync(join(folder, '.gitmodules'));
      },
    ],
  ];
  test.each(changes)('leaves one with %s', async (_, change) => {
    const worktree = await make();
    change(worktree.folder);
    expect(await removeUnchanged(worktree, user.host)).toBe(false);
    expect(existsSync(worktree.folder)).toBe(true);
  });

  test('leaves one with work in a repository that was cloned in the place of a submodule', async () => {
    const commit = git(user.root, 'rev-parse', 'HEAD').trim();
    git(user.root, 'update-index', '--add', '--cacheinfo', `160000,${commit},part`);
    git(user.root, 'commit', '-q', '-m', 'part');
    const worktree = await make();
    const part = join(worktree.folder, 'part');
    git(user.root, 'clone', '-q', '.', part);
    git(part, 'switch', '-q', '--detach', commit);
    user.write('file', 'two\n', part);

    expect(await removeUnchanged(worktree, user.host)).toBe(false);
    expect(readFileSync(join(part, 'file'), 'utf8')).toBe('two\n');
  });

  test('takes ignored files for no change', async () => {
    const worktree = await make();
    user.write('node_modules/a', '', worktree.folder);
    expect(await removeUnchanged(worktree, user.host)).toBe(true);
  });
});

test('removeWorktree leaves a branch with commits that are not merged, and takes one without', async () => {
  const [one, two] = [await make('one'), await make('two')];
  for (const { folder } of [one, two]) git(folder, 'commit', '-q', '--allow-empty', '-m', folder);
  git(user.root, 'merge', '-q', 'cai/two');

  expect(await removeWorktree(one, user.host)).toBe(false);
  expect(await removeWorktree(two, user.host)).toBe(true);
  expect(user.branches).toEqual(['cai/one', 'main']);
});

test('a worktree that its agent has locked is removed and made again', async () => {
  const worktree = await make('one');
  git(user.root, 'worktree', 'lock', worktree.folder);
  rmSync(worktree.folder, { recursive: true });

  await remakeWorktree(worktree, config(), user.host);
  expect(existsSync(worktree.folder)).toBe(true);
  git(user.root, 'worktree', 'lock', worktree.folder);
  expect(await removeWorktree(worktree, user.host)).toBe(true);
  expect(git(user.root, 'worktree', 'list').trim().split('\n')).toHaveLength(1);
});

test('of two that make a worktree again, the second leaves what the first has made', async () => {
  const worktree = await make('one');
  rmSync(worktree.folder, { recursive: true });
  const remake = async (): Promise<Worktree> => await remakeWorktree(worktree, config(), user.host);

  const first = remake().then(() => user.write('work', 'of the agent\n', worktree.folder));
  await Promise.all([first, remake()]);

  expect(existsSync(join(worktree.folder, 'work'))).toBe(true);
});

test('remakeWorktree has the branch again if it is there, or a new one', async () => {
  const worktree = await make('one');
  user.write('file', 'two\n', worktree.folder);
  user.commit('two', worktree.folder);
  // Not as git would do it.
  rmSync(worktree.folder, { recursive: true });

  await remakeWorktree(worktree, config(), user.host);
  expect(readFileSync(join(worktree.folder, 'file'), 'utf8')).toBe('two\n');
  await removeWorktree(worktree, user.host);
  git(user.root, 'branch', '-q', '-D', 'cai/one');
  user.write('file', 'three\n');
  user.commit('three');
  const again = await remakeWorktree(worktree, config(), user.host);
  expect(readFileSync(join(worktree.folder, 'file'), 'utf8')).toBe('three\n');
  expect(await changesIn(again, user.host)).toEqual({ isUncommitted: false, isMoved: false, isStray: false });
});
