/** Bringing the branch of a worktree into the repository that it was made from. */
import { CaiError } from '../../errors';
import type { Host } from '../../system/host';
import { isInside } from '../../system/paths/is-inside';
import { commandWord, printableLine, quoted } from '../../system/quoted';
import { unitsIn } from '../protect/inventory';
import { HostGit, writeMs } from '../host-git';
import { changesIn, isIn, tipOf, type Worktree } from './worktrees';

/** Of a merge that has conflicts, so many lines of git are told. */
const maxLines = 20;

/** Names of the files that are new or changed, as git writes them in the index. */
const difference = ['diff', '--name-only', '--no-renames', '--diff-filter=d', '-z'];

export interface Merged {
  /** The branch that is checked out in the repository. */
  readonly into: string;
  /** There was something to merge. */
  readonly isNews: boolean;
  /**
   * New or changed files that programs of this machine run or take commands from: what `unitsIn` looks at, and what fits
   * `patterns`. Paths are those of git, from the top of the repository.
   */
  readonly toReview: readonly string[];
}

/**
 * Merges the branch of a worktree into the branch that is checked out in the repository. Rejects with
 * `CaiError('WORKSPACE')`; after a conflict the merge is left for the user to finish.
 */
export async function mergeWorktree(
  worktree: Worktree,
  patterns: readonly string[],
  host: Host,
): Promise<Merged> {
  const { folder, repository, branch } = worktree;
  const git = await HostGit.at(repository, host);
  const into = (await git.run(['symbolic-ref', '--quiet', '--short', 'HEAD'])).stdout.trim();
  if (into === '')
    throw refusal(repository, 'has no branch checked out: switch to the branch that is to get the changes');
  const tip = await tipOf(git, branch);
  if (tip === undefined) throw refusal(repository, `has no branch ${quoted(branch)} any more`);
  if ((await changesIn(worktree, host)).isUncommitted)
    throw refusal(
      folder,
      `has changes that are not committed, which would be left out: have the agent commit them, or run: git -C ${commandWord(folder)} commit`,
    );
  if (await isIn(git, tip)) return { into, isNews: false, toReview: [] };
  const before = await git.ask(['rev-parse', '--verify', 'HEAD^{commit}']);
  const merge = ['merge', '--no-edit', '--no-stat', '-m', `Merge branch '${branch}'`, tip];
  const { stdout, failure } = await git.run(merge, writeMs);
  if (failure === undefined) {
    const changed = await git.ask([...difference, before, 'HEAD']);
    return { into, isNews: true, toReview: executedOf(changed.split('\0'), repository, patterns) };
  }
  const isUnderWay =
    (await git.run(['rev-parse', '--verify', '--quiet', 'MERGE_HEAD'])).failure === undefined;
  if (!isUnderWay) throw failure;
  const conflicts = stdout.split('\n').filter((line) => line.startsWith('CONFLICT'));
  throw new CaiError(
    'WORKSPACE',
    [
      `${quoted(branch)} and ${quoted(into)} have changed the same places: resolve that in ${quoted(repository)} and run "git commit" there, or "git merge --abort"`,
      ...conflicts.slice(0, maxLines).map(printableLine),
    ].join('\n'),
  );
}

function executedOf(changed: readonly string[], repository: string, patterns: readonly string[]): string[] {
  const units = unitsIn(repository, { patterns }).map(({ path }) => path);
  return changed.filter((name) => units.some((unit) => isInside(name, unit)));
}

function refusal(path: string, why: string): CaiError {
  return new CaiError('WORKSPACE', `${quoted(path)} ${why}`);
}
