import { fchmodSync, fchownSync, linkSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { posix } from 'node:path';
import { errorCodeOf } from '../../errors';
import { builtin } from '../builtin';
import { makeFolder } from './make-folder';
import { withFile } from './open-file';

/**
 * Writes a file of ours, in the place of one that may be there, by renaming: whoever reads meanwhile sees the old one or
 * the new one. The folder is made if it is missing. Both are the user's alone, unless the file is to have the mode and the
 * owner of another, which it is `like`. Fails with the system's error.
 */
export function replaceFile(
  file: string,
  content: string | Buffer,
  like?: Readonly<Record<'mode' | 'uid' | 'gid', number>>,
): void {
  const draft = draftOf(file);
  try {
    withFile(draft, 'wx', (open) => {
      writeFileSync(open, content);
      if (like === undefined) return;
      fchownSync(open, like.uid, like.gid);
      fchmodSync(open, like.mode & 0o777);
    });
    renameSync(draft, file);
  } catch (reason) {
    // What is left of it takes room, which may be why it failed.
    rmSync(draft, { force: true });
    throw reason;
  }
}

/**
 * Makes a file of ours, unless there is one: it appears whole or not at all, and never in the place of one that another
 * process has just made. Else as `replaceFile`.
 */
export function makeOnce(file: string, content: string): void {
  const draft = draftOf(file);
  try {
    writeFileSync(draft, content, { mode: 0o600, flag: 'wx', flush: true });
    linkSync(draft, file);
  } catch (reason) {
    if (errorCodeOf(reason) !== 'EEXIST') throw reason;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** A name beside a file that no other has; the folder is there then. */
function draftOf(file: string): string {
  makeFolder(posix.dirname(file));
  // Loaded when it is wanted, as it takes 3 ms.
  return `${file}.${builtin('node:crypto').randomUUID()}`;
}
