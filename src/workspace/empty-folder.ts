import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ownFolders } from '../system/cai-folders';

/** Where a process runs that serves no workspace: an empty folder of ours, made if it is not there. */
export function emptyFolder(env: NodeJS.ProcessEnv): string {
  const folder = join(ownFolders(env).state, 'no-workspace');
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return folder;
  } catch {
    // Without a state folder nothing is kept, but everything else works.
    return tmpdir();
  }
}
