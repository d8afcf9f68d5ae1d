/** Folders that are held open, so that nobody can put another in their place while something is done in them. */
import { closeSync, constants, mkdirSync, openSync, readlinkSync } from 'node:fs';
import { posix } from 'node:path';
import { CaiError } from '../errors';
import { quoted } from '../system/quoted';
import { errorCodeOf } from '../system/real-path';

const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

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
      const next = openNext(below(open, name), root, path, isMade);
      closeSync(open);
      open = next;
    }
    return act(below(open, last));
  } finally {
    closeSync(open);
  }
}

/** Source: proc(5), /proc/PID/fd. */
function below(open: number, name: string): string {
  return `/proc/self/fd/${open}/${name}`;
}

function openRoot(root: string): number {
  const open = openSync(root, flags);
  try {
    if (readlinkSync(`/proc/self/fd/${open}`) === root) return open;
  } catch (reason) {
    closeSync(open);
    if (errorCodeOf(reason) !== 'ENOENT') throw reason;
    throw new CaiError(
      'OUTSIDE',
      `${quoted(root)} cannot be changed safely on this system, which has no /proc/self/fd: remove by hand what you do not want`,
    );
  }
  closeSync(open);
  throw linkIn(root, posix.basename(root));
}

function openNext(place: string, root: string, path: string, isMade: boolean): number {
  try {
    return openSync(place, flags);
  } catch (reason) {
    const code = errorCodeOf(reason);
    if (code === 'ELOOP' || code === 'ENOTDIR') throw linkIn(root, path);
    if (code !== 'ENOENT' || !isMade) throw reason;
  }
  mkdirSync(place);
  return openSync(place, flags);
}

function linkIn(root: string, path: string): CaiError {
  return new CaiError(
    'OUTSIDE',
    `a link is on the way to ${quoted(posix.join(root, path))}: look at it by hand`,
  );
}
