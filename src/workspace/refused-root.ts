/** The folders that no agent is given as a workspace. */
import { readdirSync } from 'node:fs';
import { posix } from 'node:path';
import { passwdUser, type Host } from '../system/host';
import { PathResolver, realOrSame, type ResolvedPath } from '../system/real-path';
import { isInside } from '../system/paths/is-inside';

const unixFolders =
  'bin boot dev etc home lib lib32 lib64 libx32 media mnt opt proc root run sbin srv sys tmp usr var var/tmp';
const macFolders = 'Applications Library System Users Volumes private';
/** Standard folders at the top level, and the second one that everybody shares. */
const systemFolders = `${unixFolders} ${macFolders}`.split(' ').map((name) => `/${name}`);

/** A path that a workspace must not hold. */
type Guarded = ResolvedPath & { readonly path: string };

/**
 * Why a folder (a real path) cannot be the root of a workspace, be worked in whatever the root is, or be mounted besides
 * a workspace, by this environment and the file system as it is now: clauses that follow "because"; `undefined`: it can.
 * To hold a folder means also to hold a link on the way there, which the agent could redirect.
 * Looks without waiting, because one by one these waits took longer than all else of a `session/new`.
 */
export function rootRules(host: Host) {
  const resolver = new PathResolver();
  const homes = guard([host.env.HOME, passwdUser()?.homedir], resolver);
  const linked = linkedSystemFolders().map(realOrSame);
  const own = guard(Object.values(host.folders), resolver);
  const sockets = guard(socketPaths(host), resolver);
  const refusalOfMount = (folder: string): string | undefined => {
    const ours = heldBy(folder, own);
    if (ours !== undefined) return `it holds cai's own folder ${ours}`;
    const socket = heldBy(folder, sockets);
    return socket === undefined ? undefined : `it holds the socket of a container engine, ${socket}`;
  };
  const refusalOfRoot = (folder: string): string | undefined => {
    if (folder === '/') return 'it is the whole file system';
    if (homes.some(({ real }) => real === folder)) return 'it is the home folder';
    if (systemFolders.includes(folder) || linked.includes(folder)) return 'it is a system folder';
    const home = heldBy(folder, homes);
    return home === undefined ? refusalOfMount(folder) : `it holds the home folder ${home}`;
  };
  const trees = realOrSame(worktreesFolder(host.folders.state));
  const refusalOfCwd = (folder: string): string | undefined => {
    if (folder !== trees && isInside(folder, trees)) return undefined;
    const ours = own.find(({ real }) => isInside(folder, real));
    return ours === undefined ? undefined : `it lies in cai's own folder ${ours.path}`;
  };
  return { refusalOfRoot, refusalOfCwd, refusalOfMount };
}

/** Where sessions have their worktrees, unless the user says otherwise. */
export function worktreesFolder(state: string): string {
  return posix.join(state, 'session-worktrees');
}

function heldBy(folder: string, guarded: readonly Guarded[]): string | undefined {
  return guarded.find(({ real, links }) => [real, ...links].some((place) => isInside(place, folder)))?.path;
}

function guard(paths: readonly (string | undefined)[], resolver: PathResolver): Guarded[] {
  const absolute = paths.filter((path) => path?.startsWith('/') === true);
  return [...new Set(absolute.map((path) => posix.resolve(path!)))].map((path) => {
    try {
      return { path, ...resolver.resolve(path) };
    } catch {
      // Where we may not look, the path as it is written is the best that is known.
      return { path, real: path, links: [] };
    }
  });
}

/** Those that may be links. A listing tells without a look at what is mounted there, which could hang. */
function linkedSystemFolders(): string[] {
  try {
    const top = readdirSync('/', { withFileTypes: true }).filter((entry) => entry.isSymbolicLink());
    const links = top.map(({ name }) => `/${name}`);
    return systemFolders.filter((folder) => links.includes(folder) || folder === '/var/tmp');
  } catch {
    // One may pass through a folder that one may not list.
    return systemFolders;
  }
}

function socketPaths(host: Host): (string | undefined)[] {
  const runtime = host.env.XDG_RUNTIME_DIR ?? '';
  return [
    '/var/run/docker.sock',
    '/run/docker.sock',
    '/run/podman/podman.sock',
    `${runtime}/docker.sock`,
    `${runtime}/podman/podman.sock`,
    /^unix:\/\/(.*)$/s.exec(host.env.DOCKER_HOST ?? '')?.[1],
  ];
}

/** Why a path that does not begin with a slash names no folder here, and what to do. */
export function whyNotAbsolute(path: string): string {
  return /^(?:[a-z]:|\\\\)/i.test(path)
    ? "is a path of Windows: run the editor's server in WSL, and open the folder there, by its path of Linux"
    : 'is not an absolute path: send the full path of the folder';
}
