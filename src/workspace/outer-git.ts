/** Whether a workspace gets the git folder outside of it that its `.git` names. */
import type { Host } from '../system/host';
import { AgentFolders } from '../paths/agent-folders';
import { outerGitFolder, type OuterGitFolder } from './git-folder';
import { isInside } from '../paths/path-map';
import { quoted } from '../system/quoted';
import { recordGitFolder, recordedGitFolder } from './trust';

/** What a workspace gets of git besides itself. */
export interface OuterGit {
  /** `undefined`: nothing. */
  readonly git: OuterGitFolder | undefined;
  /** The one that does not count until the user says so. */
  readonly refused?: string;
  /** A sentence for the user about that. */
  readonly notice?: string;
}

/**
 * The git folder outside of the workspace at `root` (a real path). It counts if no agent can have made the workspace
 * its linked worktree or submodule: if that is what it was when it was first used, which is recorded here unless it is
 * only looked at, and no agent could write around it then. Two agents could otherwise agree on it, one in the
 * workspace, one in the git folder.
 */
export async function findOuterGit(root: string, host: Host, isOnlyLookedAt = false): Promise<OuterGit> {
  const git = await outerGitFolder(root, host);
  const recorded = recordedGitFolder(host.folders.state, root);
  if (git !== undefined && recorded !== undefined && recorded !== git.folder)
    return {
      git: undefined,
      refused: git.folder,
      notice: refused(root, git, 'had not when it was first used'),
    };
  const around = git === undefined || recorded !== undefined ? undefined : folderAround(root, host);
  if (git !== undefined && around !== undefined && !isInside(git.folder, around)) {
    const why = `may have from an agent, because it lies in ${quoted(around)}, where one can write`;
    return { git: undefined, refused: git.folder, notice: refused(root, git, why) };
  }
  if (recorded === undefined && !isOnlyLookedAt) {
    try {
      recordGitFolder(host.folders.state, root, git?.folder ?? '');
    } catch {
      // Without a place for records, work goes on.
    }
  }
  return { git };
}

function folderAround(root: string, host: Host): string | undefined {
  return new AgentFolders(host.folders.state).above(root);
}

function refused(root: string, { folder }: OuterGitFolder, why: string): string {
  return `${quoted(root)} names the git folder ${quoted(folder)}, which it ${why}, so it is not mounted: if that is right, run: cai trust ${quoted(root)}`;
}
