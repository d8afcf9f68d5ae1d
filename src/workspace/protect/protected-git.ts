/** The paths in a git folder that git would execute, including the git folders of its worktrees and submodules. */
import { posix } from 'node:path';
import {
  foldersIn,
  kindOf,
  lookAt,
  matches,
  mostInOnePlace,
  type ProtectedPath,
} from '../../system/paths/look-inside';

/**
 * In each git folder: what holds commands that git runs, and `commondir`, which names a folder to take these from. The
 * rest of `info` is left out, because `git gc` writes there. Source: gitrepository-layout(5).
 */
export const inGitFolder = ['config', 'config.worktree', 'hooks', 'info/attributes', 'commondir'];

/** The file or link at an absolute path; nothing for a folder, which is protected by what is in it. */
export function itself(root: string, place: string): ProtectedPath[] {
  const path = posix.relative(root, place);
  const there = lookAt(root, path);
  // An index may have a name that is not UTF-8, and then the file cannot be found by it.
  if (there === undefined) return path.includes('\ufffd') ? [{ path, kind: 'other' }] : [];
  return there.isDirectory() ? [] : [{ path, kind: kindOf(there) }];
}

/** The paths with these names in a git folder, and in the git folders of worktrees and submodules inside it. */
export function inGitFolders(root: string, folder: string, names: readonly string[]): ProtectedPath[] {
  const worktrees = posix.join(folder, 'worktrees');
  const top = lookAt(root, worktrees);
  const linked = top?.isDirectory() === true ? foldersIn(root, worktrees) : [];
  const isCrowd = linked === undefined || linked.length > mostInOnePlace;
  return [
    ...names.flatMap((name) => ofGit(root, folder, name)),
    ...inModules(root, folder, names),
    ...(top?.isSymbolicLink() === true || isCrowd ? [{ path: worktrees, kind: kindOf(top!) }] : []),
    ...(isCrowd ? [] : linked).flatMap((each) => [
      ...names.filter((name) => name !== 'config').flatMap((name) => ofGit(root, each, name)),
      ...inModules(root, each, names),
    ]),
  ];
}

/** The path of that name if it is of the kind that git expects: a submodule may have the same name. */
function ofGit(root: string, folder: string, name: string): ProtectedPath[] {
  const wanted = name === 'hooks' || name === 'refs/replace' ? 'folder' : 'file';
  return matches(root, folder, name.split('/')).filter(({ kind }) => kind === wanted || kind === 'link');
}

/** Folders of a git folder that are large and hold nothing that is executed. */
const store: readonly string[] = ['objects', 'refs', 'logs', 'lfs', 'hooks', 'info'];

/**
 * The same below `modules`; names of submodules can have several parts. A folder counts even if it does not look like a
 * git folder, because an agent can take its `HEAD` away for a while.
 */
function inModules(root: string, gitFolder: string, names: readonly string[]): ProtectedPath[] {
  const modules = posix.join(gitFolder, 'modules');
  const top = lookAt(root, modules);
  if (top === undefined) return [];
  if (!top.isDirectory()) return [{ path: modules, kind: kindOf(top) }];
  const found: ProtectedPath[] = [];
  const folders = foldersIn(root, modules);
  if (folders === undefined) return [{ path: modules, kind: 'folder' }];
  for (let count = 0; folders.length > 0; count += 1) {
    if (count >= mostInOnePlace) return [{ path: modules, kind: 'folder' }];
    const folder = folders.pop()!;
    const inner = foldersIn(root, folder);
    if (inner === undefined) return [{ path: modules, kind: 'folder' }];
    found.push(...names.flatMap((name) => ofGit(root, folder, name)));
    folders.push(...inner.filter((path) => !isStore(root, path)));
  }
  return found;
}

/** Whether a path is one of `store`: it lies in a git folder, and is not itself a submodule of that name. */
function isStore(root: string, path: string): boolean {
  const [name, parent] = [posix.basename(path), posix.dirname(path)];
  if (!store.includes(name) || lookAt(root, posix.join(path, 'config')) !== undefined) return false;
  return ['HEAD', 'config', 'objects'].every((each) => lookAt(root, posix.join(parent, each)) !== undefined);
}
