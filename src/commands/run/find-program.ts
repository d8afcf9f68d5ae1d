/** Finds a program of this machine that agents have no part in. */
import { delimiter, join, resolve } from 'node:path';
import { CaiError } from '../../errors';
import type { AgentFolders } from '../../system/paths/agent-folders';
import { orForget } from '../../config/chosen-path';
import { isOfNoAgent, isProgram } from '../../system/paths/safe-program';
import { searchFolders } from '../../system/paths/search-path';
import { bytesAt, withFile } from '../../system/files/open-file';
import { unlessFails } from '../../system/unless';

/** As much of a script's first line as Linux reads. Source: linux/binfmts.h, `BINPRM_BUF_SIZE`. */
const maxFirstLine = 256;
/** How often a script's interpreter may be a script. Source: execve(2). */
const maxInterpreters = 4;

/**
 * The program that `command` names, a path from `home` or a name; its absolute path, and a PATH for its interpreter
 * without folders that agents can change. Fails with `WORKSPACE` if there is no such program, or if an agent can change
 * it, a link or folder on its way, or the interpreter that its first line names.
 */
export function findProgram(
  command: string,
  { home, path, folders }: { home: string; path: string | undefined; folders: AgentFolders },
): { file: string; path: string } {
  const safe = searchFolders(path).filter((folder) => isOfNoAgent(folder, folders));
  const files = command.includes('/') ? [resolve(home, command)] : safe.map((each) => join(each, command));
  const file = files.find(isProgram);
  if (file === undefined)
    throw new CaiError(
      'WORKSPACE',
      `"${command}" was not found on this machine, outside of what agents can change: install it, or have the editor name its path`,
    );
  for (const part of [file, ...interpretersOf(file, home)]) {
    const folder = folders.onWayTo(part);
    if (folder === undefined) continue;
    const what = part === file ? `"${command}"` : `"${command}", which ${part} runs,`;
    throw new CaiError(
      'WORKSPACE',
      `${what} is not run on this machine, because agents can change what lies in ${folder}: install it elsewhere; ${orForget(folder)}`,
    );
  }
  return { file, path: searchFolders(safe.join(delimiter)).join(delimiter) };
}

/** The interpreters of a script, and of these. What `env` finds is left out: PATH has only what agents cannot change. */
function interpretersOf(file: string, home: string, depth = 0): string[] {
  const line = /^#![ \t]*([^\r\n\0]*)/.exec(firstLineOf(file))?.[1];
  if (line === undefined || depth === maxInterpreters) return [];
  const [interpreter = '', ...rest] = line.split(/[ \t]+/).filter((word) => word !== '');
  const named = [interpreter, ...rest.filter((word) => word.includes('/'))].map((word) =>
    resolve(home, word.replace(/^[^/]*=/, '')),
  );
  return [...named, ...named.flatMap((each) => interpretersOf(each, home, depth + 1))];
}

/** Empty where nothing can be read. */
function firstLineOf(file: string): string {
  const read = (open: number): string => bytesAt(open, 0, maxFirstLine).toString('latin1');
  return unlessFails(() => withFile(file, 'r', read)) ?? '';
}
