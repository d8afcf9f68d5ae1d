/**
 * Puts a workspace back: what was not there before is moved into our state folder, what was, comes back from its copy.
 * An agent may be at work meanwhile: no link is followed, nothing is run, and what is taken away was copied first.
 */
import {
  closeSync,
  constants,
  fchmodSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { posix } from 'node:path';
import { CaiError, messageOf } from '../errors';
import { readRegularFile } from '../paths/read-regular-file';
import { copyOf, folderFor, writing } from '../protect/baseline';
import type { Change } from './changes';
import { crowd, fileIn, linkIn } from '../protect/inventory';
import { inFolderOf } from '../paths/opened-folder';

/** Longer files are left where they are, in bytes. */
const maxBytes = 64 * 1_024 * 1_024;

/** What has become of a change. */
export interface PutBack {
  /** What is no longer there as it was: nothing, or where what was there is kept. */
  readonly aside: string | undefined;
  /** Why nothing was done; undefined: it was. */
  readonly failure: string | undefined;
}

/** The folder in which all that is put aside at one time is kept. */
export function asideFolder(env: NodeJS.ProcessEnv, root: string, at: Date): string {
  return posix.join(folderFor(env, root), 'aside', at.toISOString().replace(/[:.]/g, '-'));
}

/** Takes a change back. What was there is then below `aside`, under its name. */
export function putBack(env: NodeJS.ProcessEnv, change: Change, aside: string): PutBack {
  const { folder, path, name, before, now } = change;
  try {
    if (now?.state === crowd)
      throw new CaiError('OUTSIDE', 'too many files to look at: remove by hand those that you do not know');
    const restore = before === undefined ? undefined : restorerOf(env, change);
    const kept =
      now === undefined
        ? undefined
        : inFolderOf(folder, path, (place) => takeAway(place, posix.join(aside, name)));
    if (restore !== undefined) inFolderOf(folder, path, restore, true);
    else if (!change.isInKnown) removeEmpty(folder, path);
    return { aside: kept, failure: undefined };
  } catch (reason) {
    return { aside: undefined, failure: messageOf(reason) };
  }
}

/** What makes again what was there before. Fails where that is not known. */
function restorerOf(env: NodeJS.ProcessEnv, { folder, before }: Change): (place: string) => void {
  const target = linkIn(before!);
  if (target !== undefined) return (place) => symlinkSync(target, place);
  const file = fileIn(before!);
  const bytes = file && copyOf(env, folder, file.digest);
  if (file === undefined || bytes === undefined)
    throw new CaiError('CONFIG', 'no copy was kept of what was there before: change it back by hand');
  return (place) => {
    // Not by its name, in whose place there may be a link by then.
    const open = openSync(place, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
    try {
      writeFileSync(open, bytes);
      fchmodSync(open, file.mode & 0o777);
    } finally {
      closeSync(open);
    }
  };
}

/** Copies what is in a place, and removes it there; undefined for what has no content, or is gone already. */
function takeAway(place: string, to: string): string | undefined {
  const there = lstatSync(place, { throwIfNoEntry: false });
  if (there === undefined) return undefined;
  if (there.isDirectory()) throw new CaiError('OUTSIDE', 'a folder by now: look at it by hand');
  const isKept = there.isFile() || there.isSymbolicLink();
  if (isKept) {
    if (there.size > maxBytes)
      throw new CaiError('OUTSIDE', `longer than ${maxBytes} bytes: remove it by hand`);
    // Where a link leads is kept as text: nobody is to follow it from here.
    const bytes = there.isFile() ? readRegularFile(place, there.size) : readlinkSync(place);
    writing(posix.dirname(to), () => {
      mkdirSync(posix.dirname(to), { recursive: true, mode: 0o700 });
      writeFileSync(to, bytes ?? '', { mode: 0o600, flag: 'wx' });
    });
  }
  unlinkSync(place);
  return isKept ? to : undefined;
}

/** Folders that were made for what has been taken away. */
function removeEmpty(folder: string, path: string): void {
  for (let parent = posix.dirname(path); parent !== '.' && !isKept(parent); parent = posix.dirname(parent)) {
    try {
      inFolderOf(folder, parent, rmdirSync);
    } catch {
      // There is more in it. An empty one would do no harm.
      return;
    }
  }
}

/** Nothing works without it. */
function isKept(folder: string): boolean {
  return posix.basename(folder) === '.git';
}
