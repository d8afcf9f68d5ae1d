/** Finds a program of this machine that agents have no part in. */
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { CaiError } from '../errors';
import { changeableThrough } from '../workspace/changeable';
import { searchFolders } from '../workspace/search-path';

/** What is run, and how. */
export interface FoundProgram {
  /** Its absolute path. */
  readonly file: string;
  /** PATH for it, which is where a script's interpreter is found, without folders that agents can change. */
  readonly path: string;
}

/**
 * The program that `command` names, a path (from `home`) or a name to be found by `path`. Rejects with
 * `WORKSPACE` if there is none, or if who can write in `writable` decides what it is: if it lies there, or a
 * link that leads to it, or a folder on its way.
 */
export async function findProgram(
  command: string,
  home: string,
  path: string | undefined,
  writable: readonly string[],
): Promise<FoundProgram> {
  const folders: string[] = [];
  for (const folder of searchFolders(path)) {
    const isSafe = await changeableThrough(folder, writable).then(
      (found) => found === undefined,
      () => false,
    );
    if (isSafe) folders.push(folder);
  }
  const files = command.includes('/') ? [resolve(home, command)] : folders.map((each) => join(each, command));
  for (const file of files) {
    if (!(await isProgram(file))) continue;
    const folder = await changeableThrough(file, writable);
    if (folder === undefined) return { file, path: searchFolders(folders.join(delimiter)).join(delimiter) };
    throw new CaiError(
      'WORKSPACE',
      `"${command}" is not run on this machine, because agents can change what lies in ${folder}: install it elsewhere`,
    );
  }
  throw new CaiError(
    'WORKSPACE',
    `"${command}" was not found on this machine, outside of what agents can change: install it, or have the editor name its path`,
  );
}

async function isProgram(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}
