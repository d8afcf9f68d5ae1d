/** Paths in the workspace that git's configuration has git execute, or read as configuration. */
import { posix } from 'node:path';
import type { Host } from '../../system/host';
import { readBaseline } from './baseline';
import { askGit, readGitFile } from '../git';
import { maxConfigBytes, workTreesIn } from './git-layout';
import { realOrSame } from '../../system/real-path';
import { safeProgram } from '../../system/paths/safe-program';
import { isInside } from '../../system/paths/is-inside';

/** Which repository's configuration is read, and which of the paths in it count. */
interface NamedByGit {
  /** The work tree (real path); the configuration of repositories inside it is read, too. */
  readonly workTree: string;
  /** Only paths below this folder count (real path): the work tree, or its git folder where that lies elsewhere. */
  readonly within: string;
  readonly host: Host;
}

/** What is protected in a folder besides the list; paths relative to it. */
export interface Patterns {
  /** As in the configuration. */
  readonly patterns: readonly string[];
  /** Git's configuration files in the folder of which it could not be found out what they name. Sorted. */
  readonly unasked: readonly string[];
}

/**
 * What is protected in `place.within` besides the list: `paths` of the configuration, and what git's names. Containers,
 * files through the editor and `cai review` all go by this. Where git cannot tell, which an agent can bring about, the
 * patterns in the folder's baseline are taken, too.
 */
export async function patternsFor(place: NamedByGit, paths: readonly string[]): Promise<Patterns> {
  const { patterns, unasked, isWhole } = await pathsNamedByGit(place);
  const known = isWhole ? [] : (readBaseline(place.host.folders.state, place.within)?.patterns ?? []);
  return { patterns: [...new Set([...paths, ...patterns, ...known])], unasked };
}

/** Of all configuration files together so much is read, in bytes, and of so many git is asked, in so many milliseconds. */
const mostBytes = 16 * 1_024 * 1_024;
const mostAsked = 128;
const askMs = 3_000;

/**
 * The folders that `core.hooksPath` names and the files that configuration includes, whether they exist or not;
 * relative to `within`. Git, which takes longest, is run only for files that mention one. Empty without git. `isWhole` is
 * false where git could not tell of some file.
 */
export async function pathsNamedByGit({
  workTree,
  within,
  host,
}: NamedByGit): Promise<Patterns & { readonly isWhole: boolean }> {
  const trees = workTreesIn(workTree);
  const own = trees.flatMap(({ path, gitFolders }) =>
    gitFolders.flatMap((folder) =>
      ['config', 'config.worktree'].map((name) => ({ file: posix.join(folder, name), trees: [path] })),
    ),
  );
  const paths = trees.map(({ path }) => path);
  // The user's own come first: an agent must not be able to take their time.
  const all = [...userFiles(host).map((file) => ({ file, trees: paths })), ...own];
  const speaking = speakingOf(all);
  if (speaking.length === 0 || safeProgram('git', host) === undefined)
    return { patterns: [], unasked: [], isWhole: true };
  const untilMs = performance.now() + askMs;
  const asking = speaking.slice(0, mostAsked).map((each) => namedIn(each, host, untilMs));
  const named = await Promise.all(asking.map((each) => each.catch(() => undefined)));
  const below = (places: readonly string[]): string[] =>
    [...new Set(places.filter((place) => place !== within && isInside(place, within)))]
      .map((place) => posix.relative(within, place))
      .sort();
  const unknown = speaking.filter((_, index) => named[index] === undefined).map(({ file }) => file);
  const places = named.flatMap((each) => each ?? []).flatMap((place) => [place, realOrSame(place)]);
  return { patterns: below(places), unasked: below(unknown), isWhole: unknown.length === 0 };
}

/** A configuration file, and the work trees that have it. */
type Configuration = Readonly<{ file: string; trees: readonly string[] }>;

/** Those that mention paths, and those that are too much to read. */
function speakingOf(all: readonly Configuration[]): Configuration[] {
  let room = mostBytes;
  return all.filter(({ file }) => {
    if (room < 0) return true;
    try {
      const text = readGitFile(file, maxConfigBytes);
      room -= text.length;
      return /hookspath|include/i.test(text);
    } catch {
      // Perhaps git can read it.
      return true;
    }
  });
}

/** Absolute paths that one configuration file names. Source: git-config(1), core.hooksPath and include.path. */
async function namedIn({ file, trees }: Configuration, host: Host, untilMs: number): Promise<string[]> {
  const args = ['config', '--file', file, '--includes', '-z', '--show-origin', '--list'];
  // Outside of any repository, whose state an agent may have broken.
  const fields = (await askGit(['-C', '/', ...args], { host, untilMs })).split('\0');
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
  const own = posix.join(host.baseFolder('XDG_CONFIG_HOME', '.config'), 'git/config');
  return [posix.join(host.home, '.gitconfig'), own, '/etc/gitconfig'];
}
