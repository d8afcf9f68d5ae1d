/** What in a folder a program on the user's machine would execute, as it is now: file by file, and told apart. */
import { createHash } from 'node:crypto';
import { lstatSync, readlinkSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { posix } from 'node:path';
import { gitFoldersIn, workTreesIn } from './git-layout';
import { entriesIn, isProtectable, kindOf, linksIn, lookAt } from '../paths/look-inside';
import { identityIn } from '../paths/pinned-folder';
import { inGitFolder } from './protected-git';
import { parentsOf, protectedInGitFolder, protectedPathsIn, protectedPatterns } from './protected-paths';
import type { ProtectedPath } from '../paths/look-inside';
import { readRegularFile } from '../paths/read-regular-file';

/** A file that is looked at, or what is in its place. */
export interface Place {
  /** Below the folder. */
  readonly path: string;
  /** The protected path that it is, or lies in. */
  readonly unit: string;
  /** `crowd` stands for a folder, or a pattern, of which nobody has looked at all, because it is too much. */
  readonly kind: 'file' | 'link' | 'other' | 'crowd';
  /** Undefined for a crowd. */
  readonly stats: Stats | undefined;
}

/** What is in a place. */
export interface Content {
  /** Two contents are the same if these texts are: kind, permissions, digest; or where a link leads. */
  readonly state: string;
  /** Bytes of a file, unless it is large or cannot be read. */
  readonly bytes?: Buffer;
}

/** State of a crowd. What is done in it later is not seen, so nobody can accept it. */
export const crowd = 'crowd';
/** A folder with more in it is a crowd. An agent can make any number, and looking at them takes time. */
const maxPlaces = 1_000;
/** Longer files are told apart by their size and the time of their last change, which nobody can set. */
const maxBytes = 128 * 1_024;

/** The hooks of a repository and its submodules. */
const gitHooks = /(?:^|\/)\.git\/(?:.*\/)?hooks$/;

/** What decides which paths of a folder are looked at. */
export interface Scope {
  /** It is a git folder that lies outside of the workspace that uses it. */
  readonly isGit?: boolean;
  /** Looked at besides the list: what the configuration and git's name. */
  readonly patterns?: readonly string[] | undefined;
}

/**
 * In a git folder: commands and programs of a rebase or cherry-pick that waits, which git runs when that goes on.
 * Source: git-rebase(1), --exec and --strategy; git's sequencer.c.
 */
const waiting = [
  'rebase-merge/git-rebase-todo',
  'rebase-merge/strategy',
  'rebase-merge/strategy_opts',
  'sequencer/opts',
];
const isWaiting = /(?:^|\/)(?:rebase-merge|sequencer)\/[^/]+$/;
const gitNames = [...inGitFolder, ...waiting];

/**
 * What is looked at in a folder (real path): what is protected there, and what an agent has to be able to write. To
 * that belong links in a git folder: git on the user's machine reads and writes through them.
 */
export function unitsIn(folder: string, { isGit = false, patterns = [] }: Scope = {}): ProtectedPath[] {
  const trees = isGit ? [] : workTreesIn(folder);
  const units = isGit
    ? protectedInGitFolder(folder, patterns, gitNames)
    : protectedPathsIn(folder, [...protectedPatterns, ...patterns], gitNames, trees);
  const gitFolders = isGit ? [''] : gitFoldersIn(folder, trees);
  const known = new Set(units.map(({ path }) => path));
  const links = gitFolders.flatMap((each) => linksInGit(folder, each)).filter(({ path }) => !known.has(path));
  return [...units, ...links];
}

function linksInGit(folder: string, gitFolder: string): ProtectedPath[] {
  const { links, isWhole } = linksIn(folder, gitFolder, ['objects', 'lfs']);
  const found = links.map((path): ProtectedPath => ({ path, kind: 'link' }));
  return isWhole ? found : [...found, { path: posix.join(gitFolder, '*'), kind: 'crowd' }];
}

/** Whether a path that is looked at is read-only in every container where protection is on. */
export function canBeKept(unit: ProtectedPath): boolean {
  return isProtectable(unit) && !isWaiting.test(unit.path);
}

/** All places in a folder (real path), sorted. */
export function placesIn(folder: string, units = unitsIn(folder)): Place[] {
  return units.flatMap((unit) => placesOf(folder, unit)).sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The places that a protected path is or holds. Links are not followed; what is gone again is left out. */
export function placesOf(folder: string, { path: unit, kind }: ProtectedPath): Place[] {
  if (kind === 'crowd') return [crowdAt(unit)];
  if (kind !== 'folder') return placeAt(folder, unit, unit);
  const places: Place[] = [];
  const folders = [unit];
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    const entries = entriesIn(folder, next, maxPlaces);
    for (const entry of entries ?? []) {
      const path = posix.join(next, entry.name);
      if (entry.isDirectory()) folders.push(path);
      else if (!(entry.name.endsWith('.sample') && gitHooks.test(posix.join(folder, next))))
        places.push(...placeAt(folder, path, unit));
    }
    if (entries === undefined || places.length + folders.length > maxPlaces) return [crowdAt(unit)];
  }
  return places;
}

/** What is in a place now. Never waits for what is no file, and reads nothing outside of the folder. */
export function contentOf(folder: string, { path, kind, stats }: Place): Content {
  if (kind === 'crowd' || kind === 'other') return { state: kind };
  const full = posix.join(folder, path);
  if (kind === 'link') return { state: `link ${linkTarget(full)}` };
  const { mode, size, ctimeMs } = stats!;
  const head = `file ${(mode & 0o7777).toString(8)}`;
  if (size > maxBytes) return { state: `${head} of ${size} bytes, changed ${ctimeMs}` };
  const bytes = readOrNothing(full, size, folder);
  return bytes === undefined
    ? { state: `${head} that cannot be read` }
    : { state: `${head} ${digestOf(bytes)}`, bytes };
}

/**
 * What a path and the folders on the way are: another text as soon as one of them is another file or folder. The number
 * of a file that is gone is given to the next one, so the time at which it came into being counts as well.
 */
export function identityOf(folder: string, path: string): string {
  return [...parentsOf(path), path]
    .map((each) => {
      const stats = lstatSync(posix.join(folder, each), { bigint: true, throwIfNoEntry: false });
      return stats === undefined ? 'nothing' : `${identityIn(stats)}:${stats.birthtimeNs}`;
    })
    .join(' ');
}

/** A digest of bytes, as contents are told apart by and copies are named by. */
export function digestOf(bytes: Buffer | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** What is in a state of a file besides its bytes; undefined for what was no file, or not kept. */
export function fileIn(state: string): { readonly mode: number; readonly digest: string } | undefined {
  const [, mode, digest] = /^file ([0-7]+) ([0-9a-f]{64})$/.exec(state) ?? [];
  return digest === undefined ? undefined : { mode: parseInt(mode!, 8), digest };
}

/** Where a link led, by its state; undefined for what was no link. */
export function linkIn(state: string): string | undefined {
  return state.startsWith('link ') ? state.slice('link '.length) : undefined;
}

function crowdAt(unit: string): Place {
  return { path: unit, unit, kind: 'crowd', stats: undefined };
}

function placeAt(folder: string, path: string, unit: string): Place[] {
  const stats = lookAt(folder, path);
  // Its name is not the one that we were told: bytes that are no text.
  if (stats === undefined && path.includes('\ufffd')) return [{ path, unit, kind: 'other', stats }];
  // A folder where a file was a moment ago has its turn when it is looked at again.
  const kind = stats && kindOf(stats);
  return kind === undefined || kind === 'folder' ? [] : [{ path, unit, kind, stats }];
}

function linkTarget(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

/** No more than was there when it was looked at: what grows meanwhile is looked at again. */
function readOrNothing(path: string, size: number, folder: string): Buffer | undefined {
  try {
    return readRegularFile(path, size, folder);
  } catch {
    return undefined;
  }
}
