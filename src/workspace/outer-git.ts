/** The part of a workspace's git repository that lies outside the workspace. */
import { realpath, stat } from 'node:fs/promises';
import { posix } from 'node:path';
import type { Host } from '../system/host';
import { askGit, gitFolderIn, isLate, lateGit, readGitFile } from './git';
import { rootRules } from './refused-root';
import { isInside } from '../system/paths/is-inside';

/** A git folder outside of the workspace that uses it. */
export interface OuterGitFolder {
  /** Its real path. */
  readonly folder: string;
  /** Where in it the state of this workspace alone is, if it is a linked worktree: `worktrees/<name>`. */
  readonly worktree?: string;
}

/**
 * The git folder that `root` (a real path) needs beside itself: the common folder of a linked worktree, or the folder of
 * a submodule in the repository above it. `root/.git` is a file that the agent can write, so what it names counts only
 * if it lies where git puts such a folder and names `root` in return, in a file that the agent could not reach before.
 * Its `commondir` is not read: the agent can write it once the folder is mounted. Rejects with `CaiError('WORKSPACE')` where
 * git takes too long to tell.
 */
export async function outerGitFolder(root: string, host: Host): Promise<OuterGitFolder | undefined> {
  try {
    const named = gitFolderIn(posix.join(root, '.git'));
    if (named === undefined) return undefined;
    const gitFolder = await realpath(named);
    if (isInside(gitFolder, root)) return undefined;
    const common = await ofWorktree(gitFolder, root);
    const folder = common ?? (await ofSubmodule(gitFolder, root, host));
    if (folder === undefined || isInside(root, folder) || !(await isRepository(folder))) return undefined;
    if (rootRules(host).refusalOfRoot(folder) !== undefined) return undefined;
    return common === undefined ? { folder } : { folder, worktree: posix.relative(folder, gitFolder) };
  } catch (reason) {
    if (isLate(reason)) throw lateGit(root);
    // No git, a folder that is gone, or nothing that we may read: git inside will say what is missing.
    return undefined;
  }
}

/** `<common>/worktrees/<name>`, whose file `gitdir` names the worktree. Source: gitrepository-layout(5). */
async function ofWorktree(gitFolder: string, root: string): Promise<string | undefined> {
  const worktrees = posix.dirname(gitFolder);
  if (posix.basename(worktrees) !== 'worktrees') return undefined;
  const back = readGitFile(posix.join(gitFolder, 'gitdir')).replace(/\n$/, '');
  const target = posix.resolve(gitFolder, back);
  const isOurs = posix.basename(target) === '.git' && (await realpath(posix.dirname(target))) === root;
  return isOurs ? posix.dirname(worktrees) : undefined;
}

/** `<repository>/modules/<name>`, whose `core.worktree` names the submodule. */
async function ofSubmodule(gitFolder: string, root: string, host: Host): Promise<string | undefined> {
  if (!gitFolder.includes('/modules/')) return undefined;
  const args = ['config', '--file', posix.join(gitFolder, 'config'), '--get', 'core.worktree'];
  const back = (await askGit(args, { host })).replace(/\n$/, '');
  return (await realpath(posix.resolve(gitFolder, back))) === root ? gitFolder : undefined;
}

async function isRepository(folder: string): Promise<boolean> {
  const [head, objects] = await Promise.all([
    stat(posix.join(folder, 'HEAD')),
    stat(posix.join(folder, 'objects')),
  ]);
  return head.isFile() && objects.isDirectory();
}
