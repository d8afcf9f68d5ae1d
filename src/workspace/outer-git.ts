/** Whether a workspace gets the git folder outside of it that its `.git` names. */
import type { Host } from '../system/host';
import { AgentFolders } from '../paths/agent-folders';
import { outerGitFolder, type OuterGitFolder } from './git-folder';
import { isInside } from '../paths/path-map';
import { quoted } from '../system/quoted';
import { record, recorded } from './trust';

/**
 * The git folder outside of the workspace at `root` (a real path); `refused`: the one that does not count until the
 * user says so, which `notice` tells. It counts if no agent can have made the workspace its linked worktree or
 * submodule: if that is what it was when it was first used, which is recorded here unless it is only looked at, and no
 * agent could write around it then. Two agents could otherwise agree on it, one in the workspace, one in the git
 * folder.
 */
export async function findOuterGit(
  root: string,
  host: Host,
  isOnlyLookedAt = false,
): Promise<{ git: OuterGitFolder | undefined; refused?: string; notice?: string }> {
  const { state } = host.folders;
  const git = await outerGitFolder(root, host);
  const known = recorded(state, 'git-folders', root);
  const why = git === undefined ? undefined : objectionTo(git, known, new AgentFolders(state).above(root));
  if (git !== undefined && why !== undefined) {
    const notice = `${quoted(root)} names the git folder ${quoted(git.folder)}, which it ${why}, so it is not mounted: if that is right, run: cai trust ${quoted(root)}`;
    return { git: undefined, refused: git.folder, notice };
  }
  if (known === undefined && !isOnlyLookedAt) {
    try {
      record(state, 'git-folders', root, git?.folder ?? '');
    } catch {
      // Without a place for records, work goes on.
    }
  }
  return { git };
}

/** `known`: the git folder that is recorded; `around`: the folder around the workspace that agents can write. */
function objectionTo(git: OuterGitFolder, known: string | undefined, around: string | undefined) {
  if (known !== undefined) return known === git.folder ? undefined : 'had not when it was first used';
  if (around === undefined || isInside(git.folder, around)) return undefined;
  return `may have from an agent, because it lies in ${quoted(around)}, where one can write`;
}
