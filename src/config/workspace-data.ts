/** Whether a workspace may have data, and so sign-ins, of its own: a quick look, because an editor waits for it. */
import { existsSync } from 'node:fs';
import { posix } from 'node:path';
import type { Config } from './config';
import { isInside } from '../paths/path-map';
import { readRegularFile } from '../paths/read-regular-file';
import { ancestry } from '../system/real-path';

/** A repository's file that is longer cannot be used, in bytes. */
const maxBytes = 64 * 1024;

/** False: for certain, the workspace of `cwd` (a real path) shares its data. Else `loadWorkspaceConfig` knows. */
export function mayHaveOwnData(config: Config, cwd: string, home: string): boolean {
  if (config.agent.data === 'workspace') return true;
  // The home folder and those above it are no workspaces.
  return ancestry(cwd).some((folder) => !isInside(home, folder) && mentionsData(folder));
}

/** Whether the repository's file, if there is one in the folder, may say something about data. */
function mentionsData(folder: string): boolean {
  const file = posix.join(folder, '.containai/config.toml');
  // Most have none, and what fails takes longer.
  if (!existsSync(file)) return false;
  try {
    return readRegularFile(file, maxBytes)?.includes('data') === true;
  } catch {
    return true;
  }
}
