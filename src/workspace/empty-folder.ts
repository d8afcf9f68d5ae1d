import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeFolder } from '../system/files/make-folder';

/** Where a process runs that serves no workspace: an empty folder of ours, made if it is not there. */
export function emptyFolder(state: string): string {
  const folder = join(state, 'no-workspace');
  try {
    makeFolder(folder);
    return folder;
  } catch {
    // Without a state folder nothing is kept, but everything else works.
    return tmpdir();
  }
}
