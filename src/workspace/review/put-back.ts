/** Takes changes back while an agent may be at work: follows no link, runs nothing, copies before it removes. */
import * as fs from 'node:fs';
import { posix } from 'node:path';
import { CaiError, messageOf, errorCodeOf } from '../../errors';
import { readRegularFile } from '../../system/paths/read-regular-file';
import { copyOf, folderFor, recordFolders } from '../protect/baseline';
import type { Change } from './changes';
import { crowd, fileIn, hiddenState, linkIn, openState } from '../protect/inventory';
import { withFile } from '../../system/files/open-file';
import { pathOfOpen, placeOf } from '../../system/files/descriptor';
import { commandWord, quoted } from '../../system/quoted';
import { makeFolder } from '../../system/files/make-folder';
import { writing } from '../../system/unless';

/** Longer files are not moved, in bytes. */
const maxBytes = 64 * 1_024 * 1_024;

const asideName = 'aside';

/** The folder for all contents that are taken away at that time. */
export function asideFolder(state: string, root: string, at: Date): string {
  return posix.join(folderFor(state, root), asideName, at.toISOString().replace(/[:.]/g, '-'));
}

/** The folders with what was ever taken away from a workspace; `root`: of that, if it is known. */
export function asideFolders(state: string) {
  return recordFolders(state)
    .map(({ records, baseline }) => ({ folder: posix.join(records, asideName), root: baseline?.folder }))
    .filter(({ folder }) => fs.existsSync(folder));
}

/**
 * Takes a change back. The content that is taken away, if there is any, is kept below the folder `aside`, and where is
 * returned as `aside`; `failure` says why nothing was done.
 */
export function putBack(
  state: string,
  change: Change,
  aside: string,
): { readonly aside: string | undefined; readonly failure: string | undefined } {
  const { folder, path, name, before, now } = change;
  try {
    const byHand = now && whatToDo(now.state, posix.join(folder, path));
    if (byHand !== undefined) return { aside: undefined, failure: byHand };
    const restore = before === undefined ? undefined : restorerOf(state, change);
    const take = (place: string): string | undefined => takeAway(place, posix.join(aside, name));
    const kept = now === undefined ? undefined : inFolderOf(folder, path, take);
    if (restore !== undefined) inFolderOf(folder, path, restore, true);
    else if (!change.isInKnown) removeEmpty(folder, path);
    return { aside: kept, failure: undefined };
  } catch (reason) {
    return { aside: undefined, failure: messageOf(reason) };
  }
}

/** What only the user can do about something with that state; `undefined`: it can be put back. */
function whatToDo(state: string, place: string): string | undefined {
  if (state === crowd) return 'too much to look at, or not readable: remove by hand what you do not know';
  if (state.startsWith(openState)) return `others can write in it: run: chmod go-w ${commandWord(place)}`;
  if (state !== hiddenState) return undefined;
  return 'to have git tell of its changes again, run "git update-index --no-assume-unchanged --no-skip-worktree" with its path';
}

/** A function that makes the earlier content at a place. Fails if that is not known. */
function restorerOf(state: string, { folder, before }: Change): (place: string) => void {
  const target = linkIn(before!);
  if (target !== undefined) return (place) => fs.symlinkSync(target, place);
  const file = fileIn(before!);
  const bytes = file && copyOf(state, folder, file.digest);
  if (file === undefined || bytes === undefined)
    throw new CaiError('CONFIG', 'no copy was kept of what was there before: change it back by hand');
  const write = (open: number): void => {
    // By the descriptor, because the name may be a link by then.
    fs.writeFileSync(open, bytes);
    fs.fchmodSync(open, file.mode & 0o777);
  };
  return (place) => withFile(place, 'wx', write);
}

/** Moves the content of a place, and returns where to; `undefined` if it has none, as a socket, or is gone already. */
function takeAway(place: string, to: string): string | undefined {
  const there = fs.lstatSync(place, { throwIfNoEntry: false });
  if (there === undefined) return undefined;
  if (there.isDirectory()) throw new CaiError('OUTSIDE', 'a folder by now: look at it by hand');
  const isKept = there.isFile() || there.isSymbolicLink();
  if (isKept) {
    if (there.size > maxBytes)
      throw new CaiError('OUTSIDE', `longer than ${maxBytes} bytes: remove it by hand`);
    // The target of a link is kept as text: nobody is to follow it from there.
    const bytes = there.isFile() ? readRegularFile(place, there.size) : fs.readlinkSync(place);
    writing(posix.dirname(to), () => {
      makeFolder(posix.dirname(to));
      fs.writeFileSync(to, bytes ?? '', { mode: 0o600, flag: 'wx' });
    });
  }
  fs.unlinkSync(place);
  return isKept ? to : undefined;
}

/** Removes the folders on the way to a path that are empty now. */
function removeEmpty(folder: string, path: string): void {
  for (let parent = posix.dirname(path); parent !== '.'; parent = posix.dirname(parent)) {
    // git takes no folder without it for a repository.
    if (posix.basename(parent) === '.git') return;
    try {
      inFolderOf(folder, parent, fs.rmdirSync);
    } catch {
      // It is not empty. One that were would do no harm.
      return;
    }
  }
}

const flags = fs.constants.O_RDONLY | fs.constants.O_DIRECTORY | fs.constants.O_NOFOLLOW;

/**
 * What `act` does with a name for `path`, below `root` (real path), that leads there whatever becomes of the folders
 * above. No link is followed. `isMade`: missing folders are made. Fails with `CaiError('OUTSIDE')` where a link is in
 * the way, and with the system's error where nothing is.
 */
export function inFolderOf<T>(root: string, path: string, act: (place: string) => T, isMade = false): T {
  const names = path.split('/');
  const last = names.pop()!;
  let open = openRoot(root);
  try {
    for (const name of names) {
      const next = openNext(placeOf(open, name), root, path, isMade);
      fs.closeSync(open);
      open = next;
    }
    return act(placeOf(open, last));
  } finally {
    fs.closeSync(open);
  }
}

function openRoot(root: string): number {
  const open = fs.openSync(root, flags);
  let path: string | undefined;
  try {
    path = pathOfOpen(open);
  } finally {
    if (path !== root) fs.closeSync(open);
  }
  if (path === root) return open;
  if (path !== undefined) throw linkOnWay(root, posix.basename(root));
  throw new CaiError(
    'OUTSIDE',
    `${quoted(root)} cannot be changed safely on this system, which has no /proc/self/fd: remove by hand what you do not want`,
  );
}

function openNext(place: string, root: string, path: string, isMade: boolean): number {
  try {
    return fs.openSync(place, flags);
  } catch (reason) {
    const code = errorCodeOf(reason);
    if (code === 'ELOOP' || code === 'ENOTDIR') throw linkOnWay(root, path);
    if (code !== 'ENOENT' || !isMade) throw reason;
  }
  fs.mkdirSync(place);
  return fs.openSync(place, flags);
}

function linkOnWay(root: string, path: string): CaiError {
  return new CaiError(
    'OUTSIDE',
    `a link is on the way to ${quoted(posix.join(root, path))}: look at it by hand`,
  );
}
