/** What in a workspace a program on the user's machine would execute: the list, and what of it is there. */
import { lstatSync, opendirSync } from 'node:fs';
import type { Dirent, Stats } from 'node:fs';
import { posix } from 'node:path';
import { CaiError } from '../errors';
import { gitlinksIn } from './gitlinks';
import { quoted } from './quoted';

/** Something in a workspace that is protected, or would have to be. */
export interface ProtectedPath {
  /** Below the root, without `.` and `..`. */
  readonly path: string;
  /**
   * What is there. A `link`, or anything else that is neither file nor folder, cannot be protected, because it could
   * lead anywhere; `path` is then the first part of the way that is one. A `crowd` is too much to look at right in the
   * root, which cannot be protected as a whole; `path` is then the pattern.
   */
  readonly kind: 'file' | 'folder' | 'link' | 'other' | 'crowd';
}

/**
 * The list, relative to the root of a workspace: what editors, shells, agents on the host and their tools run or take
 * commands from. A `*` stands for any part of one name. What git reads is found by `protectedPathsIn` itself, because
 * a repository has as many git folders as worktrees and submodules.
 */
export const protectedPatterns: readonly string[] = [
  '.husky',
  '.vscode',
  '.idea',
  '.zed',
  '.devcontainer',
  '.containai',
  '.envrc',
  'mise.toml',
  '.mise.toml',
  'mise.local.toml',
  '.config/mise.toml',
  '.mcp.json',
  '.cursor',
  '.claude/settings*.json',
  '.claude/hooks',
  '.claude/commands',
  '.claude/agents',
  '.codex',
  '.github/hooks',
  '.gemini/settings.json',
  '.run',
  'lefthook.yml',
  '.yarnrc.yml',
  '*.code-workspace',
];

/**
 * In each git folder: commands that git runs, and `commondir`, which names another folder to take all of these from.
 * Of `info` no more, because `git gc` writes there. Source: gitrepository-layout(5).
 */
const inGitFolder: readonly string[] = ['config', 'config.worktree', 'hooks', 'info/attributes', 'commondir'];

/** An agent can make any number: from here on the folder that they lie in is protected as a whole. */
const mostInOnePlace = 64;
/** And in a folder with more than this not even the names are looked at, because somebody waits. */
const mostNames = 20_000;

/**
 * What of the list is there now, without following links; each path once, sorted. Only looks at names, and runs
 * nothing, so that it can be asked at the end of each turn: what is there then and was not before has come into being.
 * A `.git` that is a file names a git folder elsewhere, and is protected itself.
 */
export function protectedPathsIn(
  root: string,
  patterns: readonly string[] = protectedPatterns,
): ProtectedPath[] {
  const found = [
    ...patterns.flatMap((pattern) => matches(root, '', pattern.split('/'))),
    ...['', ...gitlinksIn(root)].flatMap((folder) => inGitPath(root, posix.join(folder, '.git'))),
  ];
  const byPath = new Map(found.map((each) => [each.path, each]));
  return [...byPath.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/**
 * All that has to be protected in a folder that agents can write (real path): what is on the list and what `patterns`
 * add. Fails with `CaiError('WORKSPACE')` for more names than can be.
 */
export function allProtectedIn(folder: string, patterns: readonly string[]): ProtectedPath[] {
  const found = protectedPathsIn(folder, [...protectedPatterns, ...patterns]);
  const crowd = found.find(({ kind }) => kind === 'crowd');
  if (crowd !== undefined)
    throw new CaiError(
      'WORKSPACE',
      `${quoted(folder)} has more than ${mostInOnePlace} names that fit ${quoted(crowd.path)}, or more than ${mostNames} in all, and not so many can be protected from agents: remove those that you do not know, or move some into a folder; "off = true" below [protect] leaves all unprotected`,
    );
  return found;
}

/**
 * What git would execute that lies in a git folder (real path) and those of its worktrees and submodules, relative to
 * it, and what of it fits `patterns`; `protectedPathsIn` has it for a `.git` in the workspace.
 */
export function protectedInGitFolder(gitFolder: string, patterns: readonly string[] = []): ProtectedPath[] {
  return [
    ...inGitFolders(gitFolder, ''),
    ...patterns.flatMap((pattern) => matches(gitFolder, '', pattern.split('/'))),
  ];
}

/** The folders on the way to a protected path: each can be renamed, with all in it, unless it is kept in its place. */
export function parentsOf(path: string): string[] {
  const parent = posix.dirname(path);
  return parent === '.' ? [] : [...parentsOf(parent), parent];
}

function inGitPath(root: string, path: string): ProtectedPath[] {
  const there = lookAt(root, path);
  if (there === undefined) return [];
  return there.isDirectory() ? inGitFolders(root, path) : [{ path, kind: kindOf(there) }];
}

/** A git folder, and those in it of worktrees and submodules. */
function inGitFolders(root: string, folder: string): ProtectedPath[] {
  const worktrees = ['commondir', 'config.worktree'].flatMap((name) =>
    matches(root, folder, ['worktrees', '*', name]),
  );
  return [
    ...inGitFolder.flatMap((name) => ofGit(root, folder, name)),
    ...worktrees,
    ...inModules(root, folder),
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
function inModules(root: string, gitFolder: string): ProtectedPath[] {
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
    found.push(...inGitFolder.flatMap((name) => ofGit(root, folder, name)));
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

/** What is in `folder` and fits the names of a pattern. */
function matches(root: string, folder: string, [name = '', ...rest]: readonly string[]): ProtectedPath[] {
  const names = name.includes('*') ? namesIn(root, folder)?.filter(formOf(name)) : [name];
  if (names === undefined || names.length > mostInOnePlace)
    return [folder === '' ? { path: name, kind: 'crowd' } : { path: folder, kind: 'folder' }];
  return names.flatMap((each): ProtectedPath[] => {
    const path = posix.join(folder, each);
    const there = lookAt(root, path);
    if (there === undefined) return [];
    if (rest.length === 0) return [{ path, kind: kindOf(there) }];
    if (there.isDirectory()) return matches(root, path, rest);
    return there.isSymbolicLink() ? [{ path, kind: 'link' }] : [];
  });
}

function formOf(name: string): (candidate: string) => boolean {
  const parts = name.split('*').map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  const form = new RegExp(`^${parts.join('.*')}$`, 's');
  return (candidate) => form.test(candidate);
}

function foldersIn(root: string, folder: string): string[] | undefined {
  return list(root, folder)
    ?.filter((entry) => entry.isDirectory())
    .map(({ name }) => posix.join(folder, name));
}

function namesIn(root: string, folder: string): string[] | undefined {
  return list(root, folder)?.map(({ name }) => name);
}

/** What is in a folder; undefined if that is too much. */
function list(root: string, folder: string): Dirent[] | undefined {
  const found: Dirent[] = [];
  try {
    const entries = opendirSync(posix.join(root, folder));
    try {
      for (let entry = entries.readSync(); entry !== null; entry = entries.readSync()) {
        if (found.length === mostNames) return undefined;
        found.push(entry);
      }
    } finally {
      entries.closeSync();
    }
  } catch {
    // It is gone again, or not for us to see.
    return [];
  }
  return found;
}

function lookAt(root: string, path: string): Stats | undefined {
  try {
    return lstatSync(posix.join(root, path), { throwIfNoEntry: false });
  } catch {
    // Not for us to see: nothing that this user runs can see it either.
    return undefined;
  }
}

function kindOf(there: Stats): ProtectedPath['kind'] {
  if (there.isSymbolicLink()) return 'link';
  if (there.isDirectory()) return 'folder';
  return there.isFile() ? 'file' : 'other';
}
