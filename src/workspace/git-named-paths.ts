/** What git's configuration makes git execute, or read as configuration, that lies in the workspace. */
import { lstatSync } from 'node:fs';
import { posix } from 'node:path';
import { askGit, readGitFile } from './git';
import { homeFolder } from './own-folders';
import { isInside } from './path-map';
import { protectedPathsIn, protectedPatterns } from './protected-paths';
import type { ProtectedPath } from './protected-paths';

/**
 * All that is protected in a folder that agents can write (real path): what is on the list, what `paths` of the
 * configuration add, and what git's configuration names. The containers and the files that go through the editor have
 * the same protection by it.
 */
export async function allProtectedIn(
  folder: string,
  paths: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<ProtectedPath[]> {
  const named = await pathsNamedByGit(folder, env);
  return protectedPathsIn(folder, [...protectedPatterns, ...paths, ...named]);
}

/**
 * The hooks' folder of `core.hooksPath` and the files that configuration includes, as far as they lie in the workspace
 * at `root` (a real path); relative to it, and not what lies in its `.git`. Git is asked only where its folder is
 * elsewhere or a file of configuration speaks of such things, because it takes longer than all else.
 */
export async function pathsNamedByGit(root: string, env: NodeJS.ProcessEnv): Promise<string[]> {
  try {
    const gitFolder = posix.join(root, '.git');
    const isFile = lstatSync(gitFolder, { throwIfNoEntry: false })?.isFile() === true;
    if (!isFile && !configFiles(gitFolder, env).some(speaksOfPaths)) return [];
    // The files that it has read, and what each sets.
    const fields = (await askGit(['-C', root, 'config', '-z', '--show-origin', '--list'], { env })).split(
      '\0',
    );
    const places: string[] = [];
    let hooks: string | undefined;
    for (let i = 0; i + 1 < fields.length; i += 2) {
      const [origin = '', entry = ''] = [fields[i], fields[i + 1]];
      if (!origin.startsWith('file:')) continue;
      places.push(origin.slice('file:'.length));
      hooks = /^core\.hookspath\n(.*)$/s.exec(entry)?.[1] ?? hooks;
    }
    if (hooks !== undefined) places.push(hooks.replace(/^~(?=\/)/, homeFolder(env)));
    const inside = places
      .map((place) => posix.resolve(root, place))
      .filter(
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
