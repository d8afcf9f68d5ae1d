/** Whether the part of a workspace's git repository that lies outside the workspace counts. */
import { lstat } from 'node:fs/promises';
import { posix } from 'node:path';
import { CaiError } from '../errors';
import type { Host } from '../system/host';
import { isThere } from '../system/real-path';
import { AgentFolders } from '../system/paths/agent-folders';
import { commandWord, quoted } from '../system/quoted';
import { outerGitFolder, type OuterGitFolder } from './outer-git';
import { recorded, recordFirst } from './records';
import { isInside } from '../system/paths/is-inside';

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
    const notice = `${quoted(root)} names the git folder ${quoted(git.folder)}, which it ${why}, so it is not mounted: if that is right, run: cai trust ${commandWord(root)}`;
    return { git: undefined, refused: git.folder, notice };
  }
  return { git };
}

/** Records at the first use of a workspace what `findOuterGit` has found for it, unless that was refused. */
export function recordOuterGit(root: string, host: Host, git: OuterGitFolder | undefined): void {
  recordFirst(host.folders.state, 'git-folders', root, git?.folder ?? '');
}

/**
 * The git folder of the work tree at `root` (a real path), and the one that it shares with the other work trees of its
 * repository. Rejects with `CaiError('WORKSPACE')` where these may be those of another repository: `purpose` is the end of
 * the sentence that says so.
 */
export async function ownGitFolders(
  root: string,
  host: Host,
  purpose: string,
): Promise<{ readonly gitFolder: string; readonly common: string }> {
  const dotGit = posix.join(root, '.git');
  const { git, notice } = await findOuterGit(root, host);
  if (git !== undefined) return { gitFolder: posix.join(git.folder, git.worktree ?? ''), common: git.folder };
  const isOwn = (await lstat(dotGit)).isDirectory() && !(await isThere(posix.join(dotGit, 'commondir')));
  if (isOwn) return { gitFolder: dotGit, common: dotGit };
  const why = notice ?? 'its .git leads to a git folder that is not its own';
  throw new CaiError('WORKSPACE', `${quoted(root)} ${purpose}: ${why}`);
}

/** `known`: the git folder that is recorded; `around`: the folder around the workspace that agents can write. */
function objectionTo(git: OuterGitFolder, known: string | undefined, around: string | undefined) {
  if (known !== undefined) return known === git.folder ? undefined : 'had not when it was first used';
  if (around === undefined || isInside(git.folder, around)) return undefined;
  return `may have from an agent, because it lies in ${quoted(around)}, where one can write`;
}
