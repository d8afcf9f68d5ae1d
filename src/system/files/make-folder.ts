import { existsSync, mkdirSync, statSync } from 'node:fs';
import { posix } from 'node:path';

/**
 * Makes a folder and those above it that are missing, with that mode, by default for the user alone. Fails with the
 * system's error. Node's own `recursive` turns for ever where a folder that is there answers ENOENT, as below /proc.
 */
export function makeFolder(path: string, mode = 0o700): void {
  try {
    mkdirSync(path, { mode });
  } catch (reason) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return;
    const parent = posix.dirname(path);
    if ((reason as NodeJS.ErrnoException).code !== 'ENOENT' || existsSync(parent)) throw reason;
    makeFolder(parent, mode);
    makeFolder(path, mode);
  }
}
