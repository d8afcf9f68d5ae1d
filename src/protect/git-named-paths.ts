/** Paths in the workspace that git's configuration has git execute, or read as configuration. */
import { posix } from 'node:path';
import type { Host } from '../system/host';
import { readBaseline } from './baseline';
import { askGit, readGitFile } from '../workspace/git';
import { maxConfigBytes, workTreesIn } from './git-layout';
import { isInside } from '../paths/path-map';
import { realOrSame } from '../system/real-path';
import { safeProgram } from '../paths/safe-program';

/** Which repository's configuration is read, and which of the paths in it count. */
interface NamedByGit {
  /** The work tree (real path); the configuration of repositories inside it is read, too. */
  readonly workTree: string;
  /** Only paths below this folder count (real path): the work tree, or its git folder where that lies elsewhere. */
  readonly within: string;
  readonly host: Host;
}

/**
 * What is protected in `place.within` besides the list: `paths` of the configuration, and what git's names. Containers,
 * files through the editor and `cai review` all go by this. Where git cannot tell, which an agent can bring about, the
 * patterns in the folder's baseline are taken.
 */
export async function patternsFor(place: NamedByGit, paths: readonly string[]): Promise<string[]> {
  const known = readBaseline(place.host.folders.state, place.within)?.patterns ?? [];
  const named = await pathsNamedByGit(place).catch(() => known);
  return [...new Set([...paths, ...named])];
}

/**
 * The folders that `core.hooksPath` names and the files that configuration includes, whether they exist or not;
 * relative to `within`. Git, which takes longest, is run only for files that mention one. Rejects if git cannot read
 * one. Empty without git.
 */
export async function pathsNamedByGit({ workTree, within, host }: NamedByGit): Promise<string[]> {
  const trees = workTreesIn(workTree);
  const own = trees.flatMap(({ path, gitFolders }) =>
    gitFolders.flatMap((folder) =>
      ['config', 'config.worktree'].map((name) => ({ file: posix.join(folder, name), trees: [path] })),
    ),
  );
  const paths = trees.map(({ path }) => path);
  const all = [...own, ...userFiles(host).map((file) => ({ file, trees: paths }))];
  const speaking = all.filter(({ file }) => speaksOfPaths(file));
  if (speaking.length === 0 || safeProgram('git', host) === undefined) return [];
  const named = await Promise.all(speaking.map((each) => namedIn(each.file, each.trees, host)));
  const places = named.flat().flatMap((place) => [place, realOrSame(place)]);
  const inside = places.filter((place) => place !== within && isInside(place, within));
  return [...new Set(inside)].map((place) => posix.relative(within, place)).sort();
}

/** Absolute paths that one configuration file names. Source: git-config(1), core.hooksPath and include.path. */
async function namedIn(file: string, trees: readonly string[], host: Host): Promise<string[]> {
  const args = ['config', '--file', file, '--includes', '-z', '--show-origin', '--list'];
  // Outside of any repository, whose state an agent may have broken.
  const fields = (await askGit(['-C', '/', ...args], { host })).split('\0');
  const places: string[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const [origin = '', entry = ''] = [fields[i], fields[i + 1]];
    const [, key, named] = /^(core\.hookspath|include(?:if\..*)?\.path)\n(.+)$/s.exec(entry) ?? [];
    if (named === undefined || !origin.startsWith('file:')) continue;
    const path = named.replace(/^~(?=\/)/, host.home);
    const folders = key === 'core.hookspath' ? trees : [posix.dirname(origin.slice('file:'.length))];
    places.push(...folders.map((folder) => posix.resolve(folder, path)));
  }
  return places;
}

function userFiles(host: Host): string[] {
  const named = host.env.XDG_CONFIG_HOME ?? '';
  const configHome = named.startsWith('/') ? named : posix.join(host.home, '.config');
  return [posix.join(host.home, '.gitconfig'), posix.join(configHome, 'git/config'), '/etc/gitconfig'];
}

function speaksOfPaths(file: string): boolean {
  try {
    return /hookspath|include/i.test(readGitFile(file, maxConfigBytes));
  } catch {
    // Perhaps git can read it.
    return true;
  }
}
