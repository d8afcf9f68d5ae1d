/** Looks into folders that agents can write: only at names, without following links, and only so far. */
import { lstatSync, opendirSync, type Dirent, type Stats } from 'node:fs';
import { posix } from 'node:path';
import { unlessFails } from '../unless';

/** Something in a workspace that is protected, or would have to be. */
export interface ProtectedPath {
  /** Below the root, without `.` and `..`. */
  readonly path: string;
  /**
   * A `link` or `other` cannot be protected, because it could lead anywhere; `path` is then the first part of the way
   * that is one. A `crowd` is too much to look at right in the root; `path` is then the pattern. `open`: a folder in
   * which other users of the machine can write. `hidden`: a file of which git tells no change.
   */
  readonly kind: 'file' | 'folder' | 'link' | 'other' | 'crowd' | 'open' | 'hidden';
}

/** An agent can make any number: from here on the folder that they lie in is protected as a whole. */
export const mostInOnePlace = 64;
/** And in a folder with more than this not even the names are looked at, because somebody waits. */
export const mostNames = 20_000;

/** In all of one look (`inOneLook`), so many names are read, and so many compared with patterns. */
const mostRead = 200_000;
const mostCompared = 2_000_000;

/** What a look has done so far. */
interface Look {
  read: number;
  compared: number;
  /** The names in each folder that was read for them; undefined for too many. */
  readonly names: Map<string, string[] | undefined>;
}

let current: Look | undefined;

/**
 * What `look` finds, which must not wait for anything. It reads the names of each folder once, and where it has read or
 * compared too many, all further folders have too many names: whoever chooses the names, or the patterns, must not choose
 * how long somebody waits. A number tells that, not a time, so that a slow machine finds the same.
 */
export function inOneLook<T>(look: () => T): T {
  if (current !== undefined) return look();
  current = { read: 0, compared: 0, names: new Map() };
  try {
    return look();
  } finally {
    current = undefined;
  }
}

/** Where each leads is looked up, which takes longer than to read a name. */
const mostLinks = 1_000;

/** The links in and below a folder, but for `without`; `isWhole` is false if there is too much to look at. */
export function linksIn(
  root: string,
  folder: string,
  without: readonly string[] = [],
): { readonly links: string[]; readonly isWhole: boolean } {
  const links: string[] = [];
  const folders = [folder];
  let seen = 0;
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    const entries = entriesIn(root, next);
    seen += entries?.length ?? mostNames;
    if (seen > mostNames || links.length > mostLinks) return { links: [], isWhole: false };
    for (const entry of entries ?? []) {
      const path = posix.join(next, entry.name);
      if (entry.isSymbolicLink()) links.push(path);
      else if (entry.isDirectory() && !without.includes(entry.name)) folders.push(path);
    }
  }
  return links.length > mostLinks ? { links: [], isWhole: false } : { links, isWhole: true };
}

/** What is in `folder` (below `root`) and fits a pattern's names; the last folder on the way where that is too much. */
export function matches(
  root: string,
  folder: string,
  [name = '', ...rest]: readonly string[],
): ProtectedPath[] {
  const names = name.includes('*') ? fitting(root, folder, name) : [name];
  if (names === undefined || names.length > mostInOnePlace)
    return [folder === '' ? { path: name, kind: 'crowd' } : { path: folder, kind: 'folder' }];
  return names.flatMap((each): ProtectedPath[] => {
    const path = posix.join(folder, each);
    const there = lookAt(root, path);
    // Its name is not the one that we were told: bytes that are no text.
    if (there === undefined) return each.includes('\ufffd') ? [{ path, kind: 'other' }] : [];
    if (rest.length === 0) return [{ path, kind: kindOf(there) }];
    if (there.isDirectory()) return matches(root, path, rest);
    return there.isSymbolicLink() ? [{ path, kind: 'link' }] : [];
  });
}

/** The names in a folder that fit; undefined if they are too many to compare. */
function fitting(root: string, folder: string, name: string): string[] | undefined {
  const names = namesIn(root, folder);
  if (current !== undefined) current.compared += names?.length ?? 0;
  return current !== undefined && current.compared > mostCompared ? undefined : names?.filter(formOf(name));
}

/** Whether a name fits a pattern, in linear time: a repository may choose the pattern, and an agent the names. */
export function formOf(name: string): (candidate: string) => boolean {
  const [first = '', ...rest] = name.split('*');
  const last = rest.pop() ?? '';
  return (candidate) => {
    if (candidate.length < first.length + last.length) return false;
    if (!candidate.startsWith(first) || !candidate.endsWith(last)) return false;
    const end = candidate.length - last.length;
    let at = first.length;
    for (const part of rest) {
      const found = candidate.indexOf(part, at);
      if (found < 0 || found + part.length > end) return false;
      at = found + part.length;
    }
    return true;
  };
}

/** The folders in a folder; undefined if that is too much. */
export function foldersIn(root: string, folder: string): string[] | undefined {
  return entriesIn(root, folder)
    ?.filter((entry) => entry.isDirectory())
    .map(({ name }) => posix.join(folder, name));
}

/** The names in a folder; undefined if they are too many. */
export function namesIn(root: string, folder: string): string[] | undefined {
  const place = posix.join(root, folder);
  if (current?.names.has(place) === true) return current.names.get(place);
  const names = entriesIn(root, folder)?.map(({ name }) => name);
  current?.names.set(place, names);
  return names;
}

/**
 * What is in a folder; undefined for more than `most`, and where the look has read too much already. A folder that
 * cannot be read, or is gone, has nothing.
 */
export function entriesIn(root: string, folder: string, most = mostNames): Dirent[] | undefined {
  const found: Dirent[] = [];
  if (current !== undefined && current.read > mostRead) return undefined;
  try {
    const entries = opendirSync(posix.join(root, folder));
    try {
      for (let entry = entries.readSync(); entry !== null; entry = entries.readSync()) {
        if (current !== undefined) current.read += 1;
        if (found.length === most) return undefined;
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

/** What is there; undefined for nothing, and for what is not for us to see. */
export function lookAt(root: string, path: string): Stats | undefined {
  // What is not for us to see, nothing that this user runs can see either.
  return unlessFails(() => lstatSync(posix.join(root, path), { throwIfNoEntry: false }));
}

/** Whether a read-only mount can protect it. */
export function isProtectable({ kind }: ProtectedPath): boolean {
  return kind === 'file' || kind === 'folder';
}

/** What a place is, by a look that followed no link. */
export function kindOf(there: Stats): Exclude<ProtectedPath['kind'], 'crowd' | 'open' | 'hidden'> {
  if (there.isSymbolicLink()) return 'link';
  if (there.isDirectory()) return 'folder';
  return there.isFile() ? 'file' : 'other';
}
