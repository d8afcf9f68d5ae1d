/** Tells whether a command still runs the same program as earlier. */
import { realpathSync, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { unlessFails } from '../unless';
import { searchFolders } from './search-path';

/**
 * A text that changes when the program of a command is replaced, as by another version: real path, size and time of
 * change of the program and, since that may be an interpreter, of each file that an argument names. `path` is PATH.
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
  const real = unlessFails(() => realpathSync(path));
  const stat = unlessFails(() => statSync(real ?? ''));
  return stat?.isFile() === true ? `${real}:${stat.size}:${stat.mtimeMs}` : '';
}
