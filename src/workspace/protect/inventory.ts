/** The files of a folder that a program on the user's machine would execute, with their present states. */
import { createHash } from 'node:crypto';
import { readlinkSync, type Stats } from 'node:fs';
import { posix } from 'node:path';
import { gitFoldersIn, hiddenIn, packedReplacesIn, unreadIndexesIn, workTreesIn } from './git-layout';
import {
  entriesIn,
  inOneLook,
  isProtectable,
  kindOf,
  linksIn,
  lookAt,
  type ProtectedPath,
} from '../../system/paths/look-inside';
import { identitySeen } from '../../system/paths/pinned-folder';
import { inGitFolder } from './protected-git';
import {
  parentsOf,
  protectedInGitFolder,
  protectedPathsIn,
  protectedPatterns,
  toldPatterns,
} from './protected-paths';
import { replacesIn } from './reftable';
import { readRegularFile } from '../../system/paths/read-regular-file';
import { unlessFails } from '../../system/unless';

/** A file that is looked at, or what is in its place. */
export interface ProtectedPlace {
  /** Below the folder. */
  readonly path: string;
  /** The protected path that the file is, or lies in. */
  readonly unit: string;
  /**
   * `crowd`: a folder or a pattern with so many files that they were not looked at, or an index that was not read.
   * `open`: a folder in which other users of the machine can write, with a slash behind its path. `hidden`: that git tells
   * no change of a file, or shows another object than there is, with words that say so behind its path.
   */
  readonly kind: 'file' | 'link' | 'other' | 'crowd' | 'open' | 'hidden';
  /** Undefined for a crowd, and for what is hidden. */
  readonly stats: Stats | undefined;
}

export interface Content {
  /** Kind, permissions and digest as one text, or where a link leads: equal for equal contents. */
  readonly state: string;
  /** Bytes of a file, unless it is large or cannot be read. */
  readonly bytes?: Buffer;
}

/** State of a crowd. Later changes in it would not be seen, so nobody can accept it. */
export const crowd = 'crowd';
export const hiddenState = 'hidden';
/** How the state of a folder begins in which others can write; its mode follows. */
export const openState = 'open folder ';
/** A folder with more files is a crowd: an agent can make any number, and to look at them takes time. */
const maxPlaces = 1_000;
/**
 * The state of a longer file, in bytes, or of one that cannot be read is its size and the time of its last change, which
 * no program can set.
 */
const maxBytes = 128 * 1_024;

export interface Scope {
  /** The folder is a git folder outside of the workspace that uses it. */
  readonly isGit?: boolean;
  /** Patterns besides the list, which our configuration and git's name (`patternsFor`). */
  readonly patterns?: readonly string[] | undefined;
  /** Configuration files of git in the folder that may name more, which could not be found out (`patternsFor`). */
  readonly unasked?: readonly string[] | undefined;
}

/**
 * In a git folder: what git runs when a rebase or cherry-pick that waits goes on. Source: git-rebase(1), --exec and
 * --strategy; git's sequencer.c.
 */
const waiting = [
  'rebase-merge/git-rebase-todo',
  'rebase-merge/strategy',
  'rebase-merge/strategy_opts',
  'sequencer/opts',
];
/** By which git shows one object in the place of another. Source: git-replace(1), gitrepository-layout(5). */
const replacing = ['refs/replace', 'info/grafts'];
const isWritable = /(?:^|\/)(?:(?:rebase-merge|sequencer)\/[^/]+|refs\/replace|info\/grafts|packed-refs)$/;
const gitNames = [...inGitFolder, ...waiting, ...replacing];

/**
 * The paths that are looked at in a folder (real path): the protected ones, and some that cannot be because agents have
 * to write there, such as links in a git folder, through which git on the user's machine reads and writes; the folders of
 * all these in which others can write; and by what git shows something else than there is.
 */
export function unitsIn(folder: string, scope: Scope = {}): ProtectedPath[] {
  return inOneLook(() => unitsOf(folder, scope));
}

function unitsOf(folder: string, { isGit = false, patterns = [], unasked = [] }: Scope): ProtectedPath[] {
  const trees = isGit ? [] : workTreesIn(folder);
  const units = isGit
    ? protectedInGitFolder(folder, patterns, gitNames)
    : protectedPathsIn(folder, [...protectedPatterns, ...toldPatterns, ...patterns], gitNames, trees);
  const gitFolders = isGit ? [''] : gitFoldersIn(folder, trees);
  const known = new Set(units.map(({ path }) => path));
  const replaces = replacesIn(folder, gitFolders);
  const crowds = [...unreadIndexesIn(folder, trees), ...replaces.unread, ...unasked];
  const links = gitFolders
    .flatMap((each) => linksInGit(folder, each))
    .filter(({ path }) => !known.has(path) && !crowds.includes(path));
  return [
    ...units.filter(({ path }) => !crowds.includes(path)),
    ...crowds.map(of('crowd')),
    ...links,
    ...packedReplacesIn(folder, gitFolders).map(of('file')),
    ...[...hiddenIn(folder, trees), ...replaces.names].map(of('hidden')),
    ...openFolders(folder, gitFolders, units),
  ];
}

const of =
  (kind: ProtectedPath['kind']) =>
  (path: string): ProtectedPath => ({ path, kind });

/** Folders of a git folder in which somebody who can write can place what git runs; the first is itself. */
const placing = ['', 'hooks', 'info', 'modules', 'worktrees'];
/** Permissions of the group and of others. */
const othersCanWrite = 0o022;

function openFolders(
  folder: string,
  gitFolders: readonly string[],
  units: readonly ProtectedPath[],
): ProtectedPath[] {
  const inGit = gitFolders.flatMap((each) => placing.map((name) => posix.join(each, name)));
  const around = units.flatMap(({ path, kind }) => [
    ...parentsOf(path),
    ...(kind === 'folder' ? [path] : []),
  ]);
  return [...new Set(['.', ...inGit, ...around])]
    .filter((path) => {
      const there = lookAt(folder, path);
      return there?.isDirectory() === true && (there.mode & othersCanWrite) !== 0;
    })
    .map(of('open'));
}

function linksInGit(folder: string, gitFolder: string): ProtectedPath[] {
  const { links, isWhole } = linksIn(folder, gitFolder, ['objects', 'lfs']);
  if (!isWhole) return [{ path: posix.join(gitFolder, '*'), kind: 'crowd' }];
  return links.map(of('link'));
}

/** Whether a path that is looked at is read-only in every container where protection is on. */
export function canBeKept(unit: ProtectedPath): boolean {
  return isProtectable(unit) && !isWritable.test(unit.path);
}

/** All places in a folder (real path), sorted by path. */
export function placesIn(folder: string, units = unitsIn(folder)): ProtectedPlace[] {
  return inOneLook(() =>
    units.flatMap((unit) => placesOf(folder, unit)).sort((a, b) => (a.path < b.path ? -1 : 1)),
  );
}

/** The places that a protected path is or holds. Links are not followed; what is gone meanwhile is left out. */
export function placesOf(folder: string, { path: unit, kind }: ProtectedPath): ProtectedPlace[] {
  if (kind === 'crowd') return [crowdAt(unit)];
  if (kind === 'open') return [{ path: `${unit}/`, unit, kind, stats: lookAt(folder, unit) }];
  if (kind === 'hidden') return [{ path: `${unit} (changes hidden from git)`, unit, kind, stats: undefined }];
  if (kind !== 'folder') return placeAt(folder, unit, unit);
  const places: ProtectedPlace[] = [];
  const folders = [unit];
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    const entries = entriesIn(folder, next, maxPlaces);
    for (const entry of entries ?? []) {
      const path = posix.join(next, entry.name);
      if (entry.isDirectory()) folders.push(path);
      else if (!(entry.name.endsWith('.sample') && isOfHooks(posix.join(folder, next))))
        places.push(...placeAt(folder, path, unit));
    }
    if (entries === undefined || places.length + folders.length > maxPlaces) return [crowdAt(unit)];
  }
  return places;
}

/** Of the files of one folder at most so much is read in all, in bytes as `costOf` counts them. */
const mostBytes = 64 * 1_024 * 1_024;

/** To open a file takes about as long as to read so many bytes. */
export function costOf(bytes: number): number {
  return Math.max(bytes, 4_096);
}

/** The present contents of places, in their order. What comes after very many bytes counts as too long to be read. */
export function contentsOf(folder: string, places: readonly ProtectedPlace[]): Content[] {
  let room = mostBytes;
  return places.map((place) => {
    const content = contentOf(folder, place, room);
    if (content.bytes !== undefined) room -= costOf(content.bytes.length);
    return content;
  });
}

/**
 * The present content of a place, of at most `room` bytes. Does not open what is no regular file, and reads nothing
 * outside of the folder.
 */
export function contentOf(folder: string, { path, kind, stats }: ProtectedPlace, room = maxBytes): Content {
  if (kind === 'crowd' || kind === 'other' || kind === hiddenState) return { state: kind };
  if (kind === 'open') return { state: `${openState}${((stats?.mode ?? 0) & 0o7777).toString(8)}` };
  const full = posix.join(folder, path);
  if (kind === 'link') return { state: `link ${unlessFails(() => readlinkSync(full)) ?? ''}` };
  const { mode, size, ctimeMs } = stats!;
  const head = `file ${(mode & 0o7777).toString(8)}`;
  // At most `size` bytes: a file that grows meanwhile is looked at next time.
  const isShort = costOf(size) <= Math.min(maxBytes, room);
  const bytes = isShort ? unlessFails(() => readRegularFile(full, size, folder)) : undefined;
  return bytes === undefined
    ? { state: `${head} of ${size} bytes, changed ${ctimeMs}` }
    : { state: `${head} ${digestOf(bytes)}`, bytes };
}

/** A text that changes as soon as the file at a path, or a folder on the way to it, is replaced by another one, or closed. */
export function identityOf(folder: string, path: string): string {
  return [...parentsOf(path), path].map((each) => identitySeen(posix.join(folder, each))).join(' ');
}

/** SHA-256 in hex, which states hold and copies are named by. */
export function digestOf(bytes: Buffer | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Permissions and digest of a file, from its state; `undefined` if that is of something else, or has no digest. */
export function fileIn(state: string): { readonly mode: number; readonly digest: string } | undefined {
  const [, mode, digest] = /^file ([0-7]+) ([0-9a-f]{64})$/.exec(state) ?? [];
  return digest === undefined ? undefined : { mode: parseInt(mode!, 8), digest };
}

/**
 * Whether a file is what git itself puts into the folder of each linked worktree: it leads to the git folder around that,
 * whose own files are looked at. `path`: below a workspace or its git folder.
 */
export function isUsualCommonFolder(path: string, state: string): boolean {
  return (
    /^(?:\.git\/)?worktrees\/[^/]+\/commondir$/.test(path) && fileIn(state)?.digest === digestOf('../..\n')
  );
}

/** Target of a link, from its state; `undefined` if that is of something else. */
export function linkIn(state: string): string | undefined {
  return state.startsWith('link ') ? state.slice('link '.length) : undefined;
}

function crowdAt(unit: string): ProtectedPlace {
  return { path: unit, unit, kind: 'crowd', stats: undefined };
}

function placeAt(folder: string, path: string, unit: string): ProtectedPlace[] {
  const stats = lookAt(folder, path);
  // The name is not UTF-8, so the file cannot be found by it.
  if (stats === undefined && path.includes('\ufffd')) return [{ path, unit, kind: 'other', stats }];
  // A folder that was a file a moment ago is looked at next time.
  const kind = stats && kindOf(stats);
  return kind === undefined || kind === 'folder' ? [] : [{ path, unit, kind, stats }];
}

/** The hooks of a repository and its submodules. */
function isOfHooks(folder: string): boolean {
  return folder.endsWith('/hooks') && `/${folder}`.includes('/.git/');
}
