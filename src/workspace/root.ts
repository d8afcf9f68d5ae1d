/** Which folder is the workspace of a session. */
import { lstat, realpath, stat } from 'node:fs/promises';
import { posix } from 'node:path';
import { CaiError, errorCodeOf } from '../errors';
import { answerMs, askGit, foreignRepositoryIn, gitFolderIn, isLate, type GitOptions } from './git';
import { kernelPlaceOn } from '../system/paths/kernel-place';
import { passwdUser } from '../system/host';
import { identify } from '../system/paths/pinned-folder';
import { commandWord, quoted } from '../system/quoted';
import { ancestry, isFilePath, isThere } from '../system/real-path';
import { isAllowed } from './allowed';
import { outerGitFolder } from './outer-git';
import { rootRules, whyNotAbsolute } from './refused-root';
import { isInside } from '../system/paths/is-inside';

/** The folder that an agent gets, and how the editor names it. All paths absolute and normalised. */
export interface Workspace {
  /** Real path of the root. */
  readonly root: string;
  /**
   * The root as the spelling of `cwd` names it, through links; the same as `root` where that spelling
   * does not lead through the root.
   */
  readonly spelledRoot: string;
  /** The folder that was asked for, as it was spelled. */
  readonly cwd: string;
  /** Real path of `cwd`: `root` or a folder below it, also where `cwd` does not lie below `spelledRoot`. */
  readonly realCwd: string;
  /** What the root is, as `identify` says it: whoever can rename it can put another folder in its place. */
  readonly identity: string;
  /** The git repository above `root` that was left out because it is another user's; mostly absent. */
  readonly foreignRepository?: string;
  /** Git gave no answer in time, so that the root may be narrower than another time; mostly absent. */
  readonly isUnsure?: true;
}

/**
 * The workspace of a working directory: the top level of its git work tree, else the nearest folder with
 * `.containai/config.toml` of the user or root, else the directory itself; the next counts where one would give away
 * too much. With `isRoot` it is the directory itself, whatever git says by now: a session's workspace is decided once.
 * Rejects with `CaiError('WORKSPACE')` for a `cwd` that is no absolute path of a folder, or can be in none.
 */
export async function findWorkspace(
  cwd: string,
  options: GitOptions & { readonly isRoot?: boolean },
): Promise<Workspace> {
  if (!cwd.startsWith('/')) throw refuse(cwd, whyNotAbsolute(cwd));
  if (!isFilePath(cwd)) throw refuse(cwd.slice(0, 100), 'cannot be the path of a folder');
  const spelled = posix.resolve(cwd);
  const realCwd = await realFolder(spelled).catch((reason: unknown) => {
    throw options.host.workspaces === undefined ? reason : notAllowed(spelled);
  });
  if (!isAllowed(options.host, realCwd)) throw notAllowed(spelled);
  const { refusalOfRoot, refusalOfCwd } = rootRules(options.host);
  // The nearest first.
  const possible = ancestry(realCwd).filter((folder) => refusalOfRoot(folder) === undefined);
  const [{ gitRoot, foreign, isSlow }, marked, kernelPlace] = await Promise.all([
    gitRootOf(realCwd, possible, options),
    markedRoot(possible),
    kernelPlaceOn(spelled, realCwd),
  ]);
  const found = gitRoot ?? marked ?? realCwd;
  const root = options.isRoot === true ? realCwd : found;
  const refusal = kernelPlace ?? refusalOfCwd(realCwd) ?? refusalOfRoot(root);
  if (refusal !== undefined) {
    throw refuse(spelled, `cannot be a workspace, because ${refusal}: open a project's folder instead`);
  }
  // A repository that merely holds an allowed folder.
  if (!isAllowed(options.host, root)) throw notAllowed(spelled);
  // One that holds the folder's git state, which the workspace would get.
  const outer = options.host.workspaces && (await outerGitFolder(root, options.host));
  if (outer !== undefined && !isAllowed(options.host, outer.folder)) throw notAllowed(spelled);
  // Without a link on the way, every folder above has its real path.
  const spelledRoot = spelled === realCwd ? root : await spellingOf(root, spelled);
  const { identity } = await identify(root);
  const workspace = { root, spelledRoot, cwd: spelled, realCwd, identity };
  // Whoever decided about the root had no answer.
  const wasSlow = found !== root && gitRoot === found;
  if (isSlow === true || wasSlow) return { ...workspace, isUnsure: true };
  const isCut = foreign !== undefined && foreign !== root && isInside(root, foreign);
  return isCut ? { ...workspace, foreignRepository: foreign } : workspace;
}

/** What to tell of a workspace that is only a part of its repository, or may be; `undefined`: nothing. */
export function rootNotice({ root, foreignRepository, isUnsure }: Workspace): string | undefined {
  if (isUnsure === true)
    return `the workspace is ${quoted(root)} alone, because git did not answer within ${answerMs / 1_000} s: if it lies in a repository, end this and start it again`;
  if (foreignRepository === undefined) return undefined;
  const repository = quoted(foreignRepository);
  return `the workspace is ${quoted(root)} alone, because git does not open ${repository}, which belongs to another user: if you trust it, run: git config --global --add safe.directory ${commandWord(foreignRepository)}`;
}

async function realFolder(spelled: string): Promise<string> {
  try {
    const [real, what] = await Promise.all([realpath(spelled), stat(spelled)]);
    if (what.isDirectory()) return real;
  } catch (reason) {
    const code = errorCodeOf(reason);
    if (code === 'ENOENT') throw refuse(spelled, 'does not exist: create it, or open another folder');
    if (code !== 'ENOTDIR')
      throw refuse(spelled, `cannot be opened (${String(code)}): check its permissions`);
  }
  throw refuse(spelled, 'is not a folder: open the folder that it lies in');
}

/**
 * The top level of the work tree that `folder` (a real path) lies in; `foreign`: the repository that git has refused
 * because it is another user's; `isSlow`: it took too long. Whatever else fails is no answer.
 *
 * The repository is input from a stranger: `core.worktree` or a crafted `.git` file can name any folder as top level.
 * So the answer counts only if it is one of those that are `possible`, and holds the very `.git` that git used; linked
 * worktrees and submodules hold a `.git` file. Git takes long, and is only asked where a `.git` could count.
 */
async function gitRootOf(
  folder: string,
  possible: readonly string[],
  options: GitOptions,
): Promise<{ gitRoot?: string; foreign?: string | undefined; isSlow?: boolean }> {
  const hasGit = await Promise.all(possible.map((each) => isThere(posix.join(each, '.git'))));
  if (!hasGit.includes(true)) return {};
  try {
    // Two lines. A newline in a path cuts it short; what is left is no ancestor, or not the git folder.
    const args = ['-C', folder, 'rev-parse', '--show-toplevel', '--absolute-git-dir'];
    const [root, gitDir] = (await askGit(args, options)).split('\n');
    if (root === undefined || gitDir === undefined || !possible.includes(root)) return {};
    return (await gitDirOf(root)) === (await realpath(gitDir)) ? { gitRoot: root } : {};
  } catch (reason) {
    // No answer is an ordinary case: the caller has other ways to find a root.
    const foreign = foreignRepositoryIn(reason);
    return { foreign: possible.find((each) => each === foreign), isSlow: isLate(reason) };
  }
}

/** The git folder that `root/.git` is or names, as a real path. */
async function gitDirOf(root: string): Promise<string | undefined> {
  const dotGit = posix.join(root, '.git');
  if ((await stat(dotGit)).isDirectory()) return realpath(dotGit);
  const named = gitFolderIn(dotGit);
  return named === undefined ? undefined : realpath(named);
}

async function markedRoot(folders: readonly string[]): Promise<string | undefined> {
  const areMarked = await Promise.all(folders.map(isMarked));
  return folders[areMarked.indexOf(true)];
}

/** A marker of somebody else would let them widen the workspace of everybody who works below it. */
async function isMarked(folder: string): Promise<boolean> {
  try {
    const marker = await lstat(posix.join(folder, '.containai'));
    const config = await lstat(posix.join(folder, '.containai/config.toml'));
    const trusted: readonly unknown[] = [0, passwdUser()?.uid];
    return (
      marker.isDirectory() && config.isFile() && [marker, config].every(({ uid }) => trusted.includes(uid))
    );
  } catch {
    // Not there, or not for us to see.
    return false;
  }
}

async function spellingOf(root: string, spelled: string): Promise<string> {
  for (const folder of ancestry(spelled)) {
    if ((await realpath(folder)) === root) return folder;
  }
  return root;
}

/** The same whether something is there or not: who is limited to some folders learns nothing of others. */
function notAllowed(path: string): CaiError {
  return refuse(path, 'is no folder here, or no workspace that you may use: ask whoever runs this server');
}

function refuse(path: string, why: string): CaiError {
  return new CaiError('WORKSPACE', `${quoted(path)} ${why}`);
}
