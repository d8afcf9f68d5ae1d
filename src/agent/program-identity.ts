/** Tells whether a command is still the program that it was. */
import { realpathSync, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { searchFolders } from '../paths/search-path';

/**
 * Changes when another program, or another version of it, stands where the command leads: real path, size and
 * time of change of the program, and of each file that an argument names by an absolute path, since the
 * program may be an interpreter. Empty parts are what is not there. `path` is PATH.
 */
export function programIdentity(command: readonly [string, ...string[]], path: string | undefined): string {
  const [program, ...args] = command;
  const folders = program.includes('/') ? [''] : searchFolders(path);
  let found = '';
  for (const folder of folders) {
    found = fileIdentity(join(folder, program));
    if (found !== '') break;
  }
  return JSON.stringify([found, ...args.filter(isAbsolute).map(fileIdentity)]);
}

function fileIdentity(path: string): string {
  try {
    const real = realpathSync(path);
    const stat = statSync(real);
    return stat.isFile() ? `${real}:${stat.size}:${stat.mtimeMs}` : '';
  } catch {
    return '';
  }
}
