/** What in a git folder git would execute, wherever git has its folders. */
import { posix } from 'node:path';
import { foldersIn, kindOf, lookAt, matches, mostInOnePlace } from '../paths/look-inside';
import type { ProtectedPath } from '../paths/look-inside';

/**
 * In each git folder: commands that git runs, and `commondir`, which names another folder to take all of these from.
 * Of `info` no more, because `git gc` writes there. Source: gitrepository-layout(5).
 */
export const inGitFolder: readonly string[] = [
  'config',
  'config.worktree',
  'hooks',
  'info/attributes',
  'commondir',
];

/** A file or link at an absolute path; a folder is only looked into. */
export function itself(root: string, place: string): ProtectedPath[] {
  const path = posix.relative(root, place);
  const there = lookAt(root, path);
  // An index may name what is no text, and then this is not its name.
  if (there === undefined) return path.includes('\ufffd') ? [{ path, kind: 'other' }] : [];
  return there.isDirectory() ? [] : [{ path, kind: kindOf(there) }];
}

/** A git folder, and those in it of worktrees and submodules. */
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

/** What has that name and the kind that git takes it for: a submodule may have the same name. */
function ofGit(root: string, folder: string, name: string): ProtectedPath[] {
  const wanted = name === 'hooks' ? 'folder' : 'file';
  return matches(root, folder, name.split('/')).filter(({ kind }) => kind === wanted || kind === 'link');
}

/** Where a git folder keeps what is much and never executed. */
const store: readonly string[] = ['objects', 'refs', 'logs', 'lfs', 'hooks', 'info'];

/**
 * Below `modules`, where the name of a submodule can have several parts. What looks like no git folder counts as well,
 * because an agent can take its `HEAD` away for a while.
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

/** A submodule can be named like a store: only in a git folder that name means one, and not if it has configuration. */
function isStore(root: string, path: string): boolean {
  const [name, parent] = [posix.basename(path), posix.dirname(path)];
  if (!store.includes(name) || lookAt(root, posix.join(path, 'config')) !== undefined) return false;
  return ['HEAD', 'config', 'objects'].every((each) => lookAt(root, posix.join(parent, each)) !== undefined);
}
