import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { posix } from 'node:path';
import { CaiError, messageOf } from '../../errors';
import { builtin } from '../builtin';
import { makeFolder } from './make-folder';

/**
 * Writes a file of ours, in the place of one that may be there, by renaming: whoever reads meanwhile sees the old one or
 * the new one. The folder is made if it is missing. Both are the user's alone. Fails with the system's error.
 */
export function replaceFile(file: string, content: string | Buffer): void {
  // Loaded when it is wanted, as it takes 3 ms.
  const draft = `${file}.${builtin('node:crypto').randomUUID()}`;
  makeFolder(posix.dirname(file));
  try {
    writeFileSync(draft, content, { mode: 0o600, flag: 'wx' });
    renameSync(draft, file);
  } catch (reason) {
    // What is left of it takes room, which may be why it failed.
    rmSync(draft, { force: true });
    throw reason;
  }
}

/** What `write` returns; an error of the system becomes a `CaiError('CONFIG')` that names `place`. */
export function writing<T>(place: string, write: () => T): T {
  try {
    return write();
  } catch (cause) {
    throw new CaiError('CONFIG', `${place} cannot be written: ${messageOf(cause)}`, undefined, { cause });
  }
}
