import { existsSync, mkdirSync, statSync } from 'node:fs';
import { posix } from 'node:path';
import { errorCodeOf } from '../../errors';

/**
 * Makes a folder and those above it that are missing, with that mode, by default for the user alone. Fails with the
 * system's error. Node's own `recursive` turns for ever where a folder that is there answers ENOENT, as below /proc.
 */
export function makeFolder(path: string, mode = 0o700): void {
  try {
    makeOne(path, mode);
  } catch (reason) {
    if (errorCodeOf(reason) !== 'ENOENT') throw reason;
    const parent = posix.dirname(path);
    if (!existsSync(parent)) makeFolder(parent, mode);
    // Another process may have made the parent meanwhile, so that this is tried again in any case.
    makeOne(path, mode);
  }
}

function makeOne(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (reason) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw reason;
  }
}
