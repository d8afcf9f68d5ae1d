/** Bringing the branch of a worktree into the repository that it was made from. */
import { CaiError } from '../../errors';
import type { Host } from '../../system/host';
import { printableLine, quoted } from '../../system/quoted';
import { HostGit } from './host-git';
import { changesIn, isIn, tipOf, type Worktree } from './worktrees';

/** Of a merge that has conflicts, so many lines of git are told. */
const maxLines = 20;

/**
 * Merges the branch of a worktree into the branch that is checked out in the repository; resolves with that branch and
 * whether there was something to merge. Rejects with `CaiError('WORKSPACE')`; after a conflict the merge is left for the
 * user to finish.
 */
export async function mergeWorktree(
  worktree: Worktree,
  host: Host,
): Promise<{ readonly into: string; readonly isNews: boolean }> {
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
      `has changes that are not committed, which would be left out: have the agent commit them, or run: git -C ${quoted(folder)} commit`,
    );
  if (await isIn(git, tip)) return { into, isNews: false };
  const { stdout, failure } = await git.run([
    'merge',
    '--no-edit',
    '--no-stat',
    '-m',
    `Merge branch '${branch}'`,
    tip,
  ]);
  if (failure === undefined) return { into, isNews: true };
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

function refusal(path: string, why: string): CaiError {
  return new CaiError('WORKSPACE', `${quoted(path)} ${why}`);
}
