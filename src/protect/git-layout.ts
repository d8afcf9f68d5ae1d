/**
 * Where the repositories of a folder have their git folders, by the files that git goes by. An agent may have written
 * them.
 */
import { lstatSync, readdirSync, realpathSync } from 'node:fs';
import { posix } from 'node:path';
import { readGitFile } from '../workspace/git';
import { gitlinksOf } from './gitlinks';
import { isInside } from '../paths/path-map';

/** So many work trees of one workspace are looked at. */
const mostTrees = 256;

/**
 * The git folder of a work tree, and the common one if it is a linked worktree's; real paths, wherever they lie. Empty
 * where there is none. Source: gitrepository-layout(5).
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

/**
 * The work trees in a folder that `git status` on the user's machine looks into, the folder itself first: what its
 * index has as submodules, theirs, and the linked worktrees of all of them. Absolute paths.
 */
export function workTreesIn(root: string): string[] {
  const found = new Set([root]);
  for (const tree of found) {
    if (found.size > mostTrees) break;
    const [own, common = own] = gitFoldersOf(tree);
    if (own === undefined || common === undefined) continue;
    for (const link of gitlinksOf(own)) found.add(posix.join(tree, link));
    for (const linked of linkedTrees(common)) if (isInside(linked, root)) found.add(linked);
  }
  return [...found].slice(0, mostTrees);
}

/** `.git` is the folder, a link to it, or a file that names it. */
function gitFolderAt(dotGit: string): string | undefined {
  const there = lstatSync(dotGit, { throwIfNoEntry: false });
  if (there === undefined) return undefined;
  if (!there.isFile()) return realpathSync(dotGit);
  const named = /^gitdir: (.*?)[\r\n]*$/s.exec(readGitFile(dotGit))?.[1];
  return named === undefined ? undefined : realpathSync(posix.resolve(posix.dirname(dotGit), named));
}

/** A folder without `.git` can be a git folder itself. */
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
