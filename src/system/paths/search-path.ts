/** Where programs of this machine are looked for. */
import { existsSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { Host } from '../host';
import { ancestry, realOrSame } from '../real-path';
import { isInside } from './is-inside';

/** Of a system whose PATH names nothing. An empty PATH would mean the current folder. */
const systemFolders = ['/usr/bin', '/bin'];

/**
 * The folders of a PATH, without entries that depend on the current folder and those in `project`, where an agent could
 * lay its own `git`. The system's folders if none is left.
 */
export function searchFolders(path: string | undefined, project?: string): string[] {
  const real = project === undefined ? undefined : realOrSame(project);
  const isForeign = (folder: string): boolean => real !== undefined && isInside(realOrSame(folder), real);
  const folders = (path ?? '').split(delimiter).filter((folder) => isAbsolute(folder) && !isForeign(folder));
  return folders.length > 0 ? folders : systemFolders;
}

/**
 * Whether a program is in no folder of PATH, as a process in `cwd` sees it. The system then says `EACCES`, as for a file
 * that is not executable, if the user may not enter one of the folders.
 */
export function isNowhere(program: string, path: string | undefined, cwd: string): boolean {
  const folders = program.includes('/') ? [''] : (path ?? systemFolders.join(delimiter)).split(delimiter);
  return folders.every((folder) => !existsSync(resolve(cwd, folder, program)));
}

/**
 * This machine as a process with that environment has it, but for PATH, which is without folders that an agent can write
 * to: we may have been started in one. `cwd`, an absolute path: where it counts as started.
 */
export function hostOf(env: NodeJS.ProcessEnv, cwd?: string): Host {
  const { CAI_ACP_DIRECT_SPAWN, HOME = '/', PATH } = env;
  // An agent that runs on this machine is a program of the user, and may be one of the project.
  const project = CAI_ACP_DIRECT_SPAWN === '1' ? undefined : projectAround(new Host(env, cwd).cwd, HOME);
  return new Host({ ...env, PATH: searchFolders(PATH, project).join(delimiter) }, cwd);
}

/**
 * What agents may write around a folder, without asking `git`: its outermost repository, else the folder itself. The
 * home folder and what it lies in do not count, as the user's own programs are there.
 */
export function projectAround(folder: string, home: string): string | undefined {
  const projects = ancestry(folder).filter((each) => !isInside(realOrSame(home), realOrSame(each)));
  return projects.findLast((each) => existsSync(join(each, '.git'))) ?? projects[0];
}
