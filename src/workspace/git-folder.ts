/** The part of a workspace's git repository that lies outside the workspace. */
import { realpath, stat } from 'node:fs/promises';
import { posix } from 'node:path';
import type { Host } from '../system/host';
import { AgentFolders } from '../paths/agent-folders';
import { askGit, gitFolderIn, readGitFile } from './git';
import { isInside } from '../paths/path-map';
import { quoted } from '../system/quoted';
import { rootRules } from './refused-root';
import { recorded, recordFirst } from './records';

/** A git folder outside of the workspace that uses it. */
export interface OuterGitFolder {
  /** Its real path. */
  readonly folder: string;
  /** Where in it the state of this workspace alone is, if it is a linked worktree: `worktrees/<name>`. */
  readonly worktree?: string;
}

/**
 * The git folder outside of the workspace at `root` (a real path); `refused` does not count until the user says so,
 * which `notice` tells. It counts if `root` had it when it was first used (`recordOuterGit`), and no agent could write
 * around `root` then: two agents could otherwise agree on it, one on each side.
 */
export async function findOuterGit(
  root: string,
  host: Host,
): Promise<{ git: OuterGitFolder | undefined; refused?: string; notice?: string }> {
  const { state } = host.folders;
  const git = await outerGitFolder(root, host);
  const known = recorded(state, 'git-folders', root);
  const why = git === undefined ? undefined : objectionTo(git, known, new AgentFolders(state).above(root));
  if (git !== undefined && why !== undefined) {
    const notice = `${quoted(root)} names the git folder ${quoted(git.folder)}, which it ${why}, so it is not mounted: if that is right, run: cai trust ${quoted(root)}`;
    return { git: undefined, refused: git.folder, notice };
  }
  return { git };
}

/** Records at the first use of a workspace what `findOuterGit` has found for it, unless that was refused. */
export function recordOuterGit(root: string, host: Host, git: OuterGitFolder | undefined): void {
  recordFirst(host.folders.state, 'git-folders', root, git?.folder ?? '');
}

/** `known`: the git folder that is recorded; `around`: the folder around the workspace that agents can write. */
function objectionTo(git: OuterGitFolder, known: string | undefined, around: string | undefined) {
  if (known !== undefined) return known === git.folder ? undefined : 'had not when it was first used';
  if (around === undefined || isInside(git.folder, around)) return undefined;
  return `may have from an agent, because it lies in ${quoted(around)}, where one can write`;
}

/**
 * The git folder that `root` (a real path) needs beside itself: the common folder of a linked worktree, or the folder of
 * a submodule in the repository above it. `root/.git` is a file that the agent can write, so what it names counts only
 * if it lies where git puts such a folder and names `root` in return, in a file that the agent could not reach before.
 * Its `commondir` is not read: the agent can write it once the folder is mounted.
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
  } catch {
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
