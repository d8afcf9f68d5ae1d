import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Host } from '../../src/system/host';
import { outerGitFolder } from '../../src/workspace/outer-git';
import { git } from '../support/git';
import { newFolder } from '../support/temp-folder';

let env: NodeJS.ProcessEnv;

beforeAll(() => (env = { PATH: process.env.PATH, HOME: newFolder() }));

function repository(name: string): string {
  const folder = join(newFolder(), name);
  mkdirSync(folder);
  git(folder, 'init', '-q');
  git(folder, 'commit', '-q', '--allow-empty', '-m', 'first');
  return folder;
}

describe('outerGitFolder', () => {
  let main: string;
  let worktree: string;
  const ofTree = () => ({ folder: join(main, '.git'), worktree: 'worktrees/tree' });

  beforeEach(() => {
    main = repository('main');
    worktree = join(newFolder(), 'tree');
    git(main, 'worktree', 'add', '-q', worktree);
  });

  it('is the common folder for a linked worktree', async () => {
    expect(await outerGitFolder(worktree, new Host(env))).toEqual(ofTree());
  });

  it('is the folder of a submodule', async () => {
    const above = repository('above');
    git(above, 'submodule', '--quiet', 'add', main, 'deps/sub');

    expect(await outerGitFolder(join(above, 'deps/sub'), new Host(env))).toEqual({
      folder: join(above, '.git/modules/deps/sub'),
    });
  });

  it.each([
    ['an ordinary repository', () => main],
    ['a folder without git', () => newFolder()],
  ])('is nothing for %s', async (_what, folder) => {
    expect(await outerGitFolder(folder(), new Host(env))).toBeUndefined();
  });

  it('is not nothing where git is slow to tell', async () => {
    const [above, bin] = [repository('above'), newFolder()];
    git(above, 'submodule', '--quiet', 'add', main, 'deps/sub');
    writeFileSync(join(bin, 'git'), '#!/bin/sh\nexec sleep 1000\n', { mode: 0o755 });

    await expect(
      outerGitFolder(join(above, 'deps/sub'), new Host({ ...env, PATH: `${bin}:${process.env.PATH}` })),
    ).rejects.toThrow(/^git did not answer within 2 s about ".*deps.sub": try again/);
  });

  describe('given a .git file that somebody has written', () => {
    let root: string;
    const point = (target: string): void => writeFileSync(join(root, '.git'), `gitdir: ${target}\n`);

    beforeEach(() => (root = newFolder()));

    it.each([
      ['follow it to the worktree of another folder', () => point(join(main, '.git/worktrees/tree'))],
      ['follow it to a repository itself', () => point(join(main, '.git'))],
      ['wait for what is no file', () => execFileSync('mkfifo', [join(root, '.git')])],
    ])('does not %s', async (_, prepare) => {
      prepare();

      expect(await outerGitFolder(root, new Host(env))).toBeUndefined();
    });

    it('does not take a folder in the workspace for an outer one', async () => {
      mkdirSync(join(root, 'fake/worktrees/x'), { recursive: true });
      writeFileSync(join(root, 'fake/worktrees/x/gitdir'), join(root, '.git'));
      point('fake/worktrees/x');

      expect(await outerGitFolder(root, new Host(env))).toBeUndefined();
    });
  });

  it('does not believe the commondir that an agent may have changed', async () => {
    writeFileSync(join(main, '.git/worktrees/tree/commondir'), '/\n');

    expect(await outerGitFolder(worktree, new Host(env))).toEqual(ofTree());
  });

  it('does not give away a folder that holds the home folder', async () => {
    const home = join(main, '.git/home');
    mkdirSync(home);

    expect(await outerGitFolder(worktree, new Host({ ...env, HOME: home }))).toBeUndefined();
  });

  it('reads the back-link through links', async () => {
    const link = join(newFolder(), 'link');
    symlinkSync(worktree, link);
    const back = join(main, '.git/worktrees/tree/gitdir');
    writeFileSync(back, readFileSync(back, 'utf8').replace(worktree, link));

    expect(await outerGitFolder(worktree, new Host(env))).toEqual(ofTree());
  });
});
