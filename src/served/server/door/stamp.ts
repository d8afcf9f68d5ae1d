/** By what a file is known to be the same as before. */
import { lstatSync } from 'node:fs';

/** Another one for each file that ever was in that place, and each change of it. */
export function stampOf(path: string): string {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  // Other files come and go in a folder.
  const changes = stats?.isDirectory() === true ? [] : [stats?.size, stats?.mtimeNs, stats?.ctimeNs];
  return [stats?.dev, stats?.ino, stats?.mode, stats?.uid, ...changes].join(' ');
}
