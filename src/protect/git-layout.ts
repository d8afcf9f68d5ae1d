/**
 * Where the repositories in a folder have their git folders, by the files that git reads. An agent may have written
 * these.
 */
import { lstatSync, readdirSync, realpathSync } from 'node:fs';
import { posix } from 'node:path';
import { readGitFile } from '../workspace/git';
import { gitlinksOf } from './gitlinks';
import { isInside } from '../paths/path-map';

/** Of one workspace only so many work trees are looked at. */
const mostTrees = 256;

/**
 * The git folder of a work tree and, for a linked worktree, the common git folder; real paths, inside or outside of the
 * work tree. Empty if there is none. Source: gitrepository-layout(5).
 */
export function gitFoldersOf(workTree: string): string[] {
  try {
    const folder = gitFolderAt(posix.join(workTree, '.git')) ?? bareAt(workTree);
    if (folder === undefined) return [];
    const common = readGitFile(posix.join(folder, 'commondir')).replace(/\n$/, '');
    return common === '' ? [folder] : [folder, realpathSync(posix.resolve(folder, common))];
  } catch {
    // It is being replaced, or leads nowhere: then git finds nothing there either.
    return [];
  }
}

/** A folder that git can take for a work tree. */
export interface WorkTree {
  /** Absolute. */
  readonly path: string;
  /** Its git folder, as `gitFoldersOf` tells it. */
  readonly gitFolders: readonly string[];
}

/**
 * The work trees in a folder that `git status` on the user's machine looks into, the folder itself first: the
 * submodules that its index names, theirs, and the linked worktrees of all of them. Reads each index, which can be
 * long: whoever needs the work trees twice passes them on.
 */
export function workTreesIn(root: string): WorkTree[] {
  const paths = new Set([root]);
  const found: WorkTree[] = [];
  for (const path of paths) {
    const gitFolders = gitFoldersOf(path);
    found.push({ path, gitFolders });
    if (found.length === mostTrees) break;
    const [own, common = own] = gitFolders;
    // Where there are too many to look at all, none is looked for in the rest.
    if (own === undefined || common === undefined || paths.size > mostTrees) continue;
    for (const link of gitlinksOf(own)) paths.add(posix.join(path, link));
    for (const linked of linkedTrees(common)) if (isInside(linked, root)) paths.add(linked);
  }
  return found;
}

/** The git folders of work trees that lie in the folder `root`, each once; relative to it. */
export function gitFoldersIn(root: string, workTrees: readonly WorkTree[]): string[] {
  const inside = workTrees.flatMap(({ gitFolders }) => gitFolders.filter((each) => isInside(each, root)));
  return [...new Set(inside)].map((folder) => posix.relative(root, folder));
}

/** The git folder that `.git` is, links to, or names as a file. */
function gitFolderAt(dotGit: string): string | undefined {
  const there = lstatSync(dotGit, { throwIfNoEntry: false });
  if (there === undefined) return undefined;
  if (!there.isFile()) return realpathSync(dotGit);
  const named = /^gitdir: (.*?)[\r\n]*$/s.exec(readGitFile(dotGit))?.[1];
  return named === undefined ? undefined : realpathSync(posix.resolve(posix.dirname(dotGit), named));
}

/** A folder without `.git` that is a git folder itself: a bare repository. */
function bareAt(folder: string): string | undefined {
  const names = ['HEAD', 'objects', 'refs'];
  const isBare = names.every(
    (name) => lstatSync(posix.join(folder, name), { throwIfNoEntry: false }) !== undefined,
  );
  return isBare ? folder : undefined;
}

function linkedTrees(common: string): string[] {
  const worktrees = posix.join(common, 'worktrees');
  try {
    return readdirSync(worktrees).flatMap((name) => {
      const back = readGitFile(posix.join(worktrees, name, 'gitdir')).replace(/\n$/, '');
      return back === '' ? [] : [posix.dirname(posix.resolve(worktrees, name, back))];
    });
  } catch {
    return [];
  }
}
