/** What git's configuration makes git execute, or read as configuration, that lies in the workspace. */
import { lstatSync } from 'node:fs';
import { posix } from 'node:path';
import { askGit, readGitFile } from './git';
import { homeFolder } from './own-folders';
import { isInside } from './path-map';

/**
 * What is protected in a folder that agents can write (real path), besides the list: what `paths` of the configuration
 * add, and what git's configuration names. The containers, the files that go through the editor and `cai review` have
 * the same protection by it.
 */
export async function patternsFor(
  folder: string,
  paths: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<string[]> {
  return [...paths, ...(await pathsNamedByGit(folder, env))];
}

/**
 * The hooks' folder of `core.hooksPath` and the files that configuration includes, there or not, as far as they lie in
 * the workspace at `root` (a real path); relative to it, and not what lies in its `.git`. Git is asked only where its folder is
 * elsewhere or a file of configuration speaks of such things, because it takes longer than all else.
 */
export async function pathsNamedByGit(root: string, env: NodeJS.ProcessEnv): Promise<string[]> {
  try {
    const gitFolder = posix.join(root, '.git');
    const isFile = lstatSync(gitFolder, { throwIfNoEntry: false })?.isFile() === true;
    if (!isFile && !configFiles(gitFolder, env).some(speaksOfPaths)) return [];
    // What each file sets: a file may be included only on a condition, or not be there yet.
    const fields = (await askGit(['-C', root, 'config', '-z', '--show-origin', '--list'], { env })).split(
      '\0',
    );
    const places: string[] = [];
    for (let i = 0; i + 1 < fields.length; i += 2) {
      const [origin = '', entry = ''] = [fields[i], fields[i + 1]];
      if (!origin.startsWith('file:')) continue;
      const [, key, named] = /^(core\.hookspath|include(?:if\..*)?\.path)\n(.+)$/s.exec(entry) ?? [];
      if (named === undefined) continue;
      // Source: git-config(1), core.hooksPath and include.path.
      const from = key === 'core.hookspath' ? '.' : posix.dirname(origin.slice('file:'.length));
      places.push(posix.resolve(root, from, named.replace(/^~(?=\/)/, homeFolder(env))));
    }
    const inside = places.filter(
      (place) => place !== root && isInside(place, root) && !isInside(place, posix.join(root, '.git')),
    );
    return [...new Set(inside)].map((place) => posix.relative(root, place));
  } catch {
    // No git, or a configuration that it cannot read, from which it executes nothing either.
    return [];
  }
}

function configFiles(gitFolder: string, env: NodeJS.ProcessEnv): string[] {
  const home = homeFolder(env);
  const named = env.XDG_CONFIG_HOME ?? '';
  const configHome = named.startsWith('/') ? named : posix.join(home, '.config');
  return [
    posix.join(gitFolder, 'config'),
    posix.join(gitFolder, 'config.worktree'),
    posix.join(home, '.gitconfig'),
    posix.join(configHome, 'git/config'),
    '/etc/gitconfig',
  ];
}

function speaksOfPaths(file: string): boolean {
  try {
    return /hookspath|include/i.test(readGitFile(file, maxConfigBytes));
  } catch {
    // Only git itself may be able to make something of it.
    return true;
  }
}

const maxConfigBytes = 1024 * 1024;
