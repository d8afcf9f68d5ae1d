/**
 * Linked worktrees of the user's repositories, each with a branch, that we have made: for one session each, or by
 * `cai worktree new`. A record of each is in our state folder, and stays when the worktree is removed, so that a session
 * can have it again.
 */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { posix } from 'node:path';
import { CaiError, messageOf } from '../../errors';
import type { Host } from '../../system/host';
import { makeFolder } from '../../system/files/make-folder';
import { AgentFolders } from '../../system/paths/agent-folders';
import { removeTree } from '../../system/files/remove-tree';
import { quoted } from '../../system/quoted';
import { ProcessLocks } from '../../system/process-lock';
import { isThere } from '../../system/real-path';
import { recordName } from '../../system/state-folder';
import { objectIn } from '../../system/unless';
import { isAllowed } from '../allowed';
import { allRecorded, forget, record, recorded } from '../records';
import { gitlinksOf } from '../protect/git-layout';
import { worktreesFolder } from '../refused-root';
import type { Workspace } from '../root';
import { copyInto } from './copied';
import { trustAlike } from './trusted';
import { HostGit, writeMs } from '../host-git';

/** A worktree of ours, which may be gone. */
export interface Worktree {
  /** The top of its work tree, a real path. */
  readonly folder: string;
  /** The top of the work tree that it was made from, a real path. */
  readonly repository: string;
  /** Its branch: `cai/NAME`. */
  readonly branch: string;
  /** The commit that it began at. */
  readonly base: string;
  /** It was made for a session, and goes with it if nothing has changed. */
  readonly isOfSession: boolean;
}

/** What there is in a worktree that would be lost with it. */
export interface WorktreeChanges {
  /** Files that differ from the last commit, or a submodule with a repository. */
  readonly isUncommitted: boolean;
  /** The branch, or what is checked out, is not what it was at the beginning. */
  readonly isMoved: boolean;
  /** What is checked out has commits that no branch and no tag has. */
  readonly isStray: boolean;
}

export interface WorktreeWish {
  /** For its branch and its folder; default: a random one. */
  readonly name?: string;
  readonly isOfSession: boolean;
}

/** What the user's configuration says of worktrees. */
export interface WorktreeOptions {
  /** Where they are made; default: below our state folder. */
  readonly folder?: string | undefined;
  /** What is copied from the repository's work tree. */
  readonly copy: readonly string[];
}

export interface SessionWorkspace extends Workspace {
  /** Of a worktree: the workspace that the editor named, whose paths stand for this one's. */
  readonly worktreeOf?: Workspace;
}

/** Whoever works in a worktree can lock it. */
const evenLocked = ['--force', '--force'];

/** The worktree that was made at that path, if it was. */
export function worktreeAt(state: string, folder: string): Worktree | undefined {
  return worktreeIn(folder, recorded(state, 'worktrees', folder));
}

/** All worktrees that are there, of that repository alone if one is named. */
export function worktreesOf(state: string, repository?: string): Worktree[] {
  return allRecorded(state, 'worktrees')
    .map(({ path, value }) => (typeof path === 'string' ? worktreeIn(path, value) : undefined))
    .filter((each) => each !== undefined)
    .filter((each) => each.repository === (repository ?? each.repository) && existsSync(each.folder))
    .sort((one, other) => (one.branch < other.branch ? -1 : 1));
}

/**
 * Makes a worktree of the repository whose work tree has its top at `repository`, at the commit that is checked out
 * there. Rejects with `CaiError('WORKSPACE')`.
 */
export async function makeWorktree(
  repository: string,
  { name = randomUUID().slice(0, 8), isOfSession }: WorktreeWish,
  options: WorktreeOptions,
  host: Host,
): Promise<Worktree> {
  const git = await HostGit.at(repository, host);
  const base = await git.ask(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']).catch(() => {
    throw refusal(repository, 'has no commit that a worktree could begin at: commit something first');
  });
  const folder = posix.join(
    await folderFor(repository, options, host),
    `${posix.basename(repository)}-${name}`,
  );
  const worktree = { folder, repository, branch: `cai/${name}`, base, isOfSession };
  await whileAlone(worktree, host, async () => {
    if (existsSync(folder)) throw refusal(folder, 'exists: choose another name');
    await checkOut(git, worktree, options, host);
  });
  return worktree;
}

/** The worktree, made again if it is gone: with its branch if that is still there, or else as a new one. */
export async function remakeWorktree(
  worktree: Worktree,
  options: WorktreeOptions,
  host: Host,
): Promise<Worktree> {
  if (await isThere(worktree.folder)) return worktree;
  makeFolder(posix.dirname(worktree.folder));
  const git = await HostGit.at(worktree.repository, host);
  const base = await git.ask(['rev-parse', '--verify', 'HEAD^{commit}']);
  const again = { ...worktree, base };
  return await whileAlone(worktree, host, async () => {
    // Another process may have made it meanwhile, and its agent have worked there.
    if (await isThere(worktree.folder)) return worktreeAt(host.folders.state, worktree.folder) ?? worktree;
    await checkOut(git, again, options, host);
    return again;
  });
}

/** Makes a worktree while no other process makes that one. */
async function whileAlone<T>({ folder }: Worktree, host: Host, make: () => Promise<T>): Promise<T> {
  const locks = new ProcessLocks(posix.join(host.folders.state, 'worktree-locks'));
  const late = () => refusal(folder, 'is being made by another process: try again');
  return await locks.hold(recordName(folder), { pollMs: 20, limitMs: writeMs, late }, make);
}

async function checkOut(
  git: HostGit,
  worktree: Worktree,
  options: WorktreeOptions,
  host: Host,
): Promise<void> {
  const { folder, repository, branch, base, isOfSession } = worktree;
  const { state } = host.folders;
  const hasBranch = (await tipOf(git, branch)) !== undefined;
  const from = hasBranch ? [branch] : [base, '--no-track', '-b', branch];
  // Git may still know one that was there, which is gone.
  await git.run(['worktree', 'remove', ...evenLocked, folder]);
  await git.addWorktree(folder, from);
  try {
    record(state, 'worktrees', folder, JSON.stringify({ repository, branch, base, isOfSession }));
    record(state, 'git-folders', folder, git.common);
    await copyInto(options.copy, repository, folder);
    await trustAlike(git, state, folder);
  } catch (reason) {
    await removeWorktree(worktree, host).catch(() => undefined);
    throw reason;
  }
}

async function folderFor(repository: string, { folder }: WorktreeOptions, host: Host): Promise<string> {
  const { state } = host.folders;
  const wanted = folder ?? worktreesFolder(state);
  const refuse = (why: string): CaiError =>
    new CaiError(
      'WORKSPACE',
      `no worktree can be made in ${quoted(wanted)}, because ${why}: name another folder in worktrees.folder of your config.toml`,
    );
  try {
    makeFolder(wanted);
  } catch (reason) {
    throw refuse(messageOf(reason));
  }
  const real = await realpath(wanted);
  const agents = new AgentFolders(state, [repository]).onWayTo(wanted);
  if (agents !== undefined) throw refuse(`an agent can write in ${quoted(agents)}`);
  if (!isAllowed(host, real)) throw refuse('you may not work there');
  return real;
}

/**
 * What has changed in a worktree since it was made; `limitMs`: how long git may take for each look. Rejects with
 * `CaiError('WORKSPACE')` where that cannot be told.
 */
export async function changesIn(
  { folder, branch, base }: Worktree,
  host: Host,
  limitMs?: number,
): Promise<WorktreeChanges> {
  const git = await HostGit.at(folder, host, limitMs);
  const [differs, head, tip, ownFolder] = await Promise.all([
    hasDifferences(git),
    git.ask(['rev-parse', '--symbolic-full-name', 'HEAD']),
    tipOf(git, branch),
    git.ask(['rev-parse', '--absolute-git-dir']),
  ]);
  const places = [
    posix.join(ownFolder, 'modules'),
    ...gitlinksOf(ownFolder).map((link) => posix.join(folder, link, '.git')),
  ];
  const isUncommitted = differs || (await Promise.all(places.map(isThere))).includes(true);
  const isMoved = head !== `refs/heads/${branch}` || tip !== base;
  const stray = ['rev-list', '--max-count=1', 'HEAD', '--not', '--branches', '--tags', '--remotes'];
  return { isUncommitted, isMoved, isStray: head === 'HEAD' && (await git.ask(stray)) !== '' };
}

/** Whether files of a work tree differ from its last commit. */
export async function hasDifferences(git: HostGit): Promise<boolean> {
  // A submodule may be a repository of the agent: git does not go there.
  const status = ['status', '--porcelain', '-z', '--untracked-files=normal', '--ignore-submodules=dirty'];
  return (await git.ask(status)) !== '';
}

/** The commit of a branch, if there is that branch. */
export async function tipOf(git: HostGit, branch: string): Promise<string | undefined> {
  const { stdout, failure } = await git.run([
    'rev-parse',
    '--verify',
    '--quiet',
    `refs/heads/${branch}^{commit}`,
  ]);
  return failure === undefined ? stdout.trim() : undefined;
}

/**
 * Removes a worktree with all that is in it, and its branch, unless that has commits that are not in what is checked out
 * in the repository; whether the branch is gone. Rejects with `CaiError('WORKSPACE')`.
 */
export async function removeWorktree(worktree: Worktree, host: Host): Promise<boolean> {
  const { folder, repository, branch, base } = worktree;
  const git = await HostGit.at(repository, host);
  await removeTree(folder, host).catch((reason: unknown) => {
    throw refusal(folder, `cannot be removed by "rm -rf": ${messageOf(reason)}`);
  });
  await git.ask(['worktree', 'remove', ...evenLocked, folder]);
  const tip = await tipOf(git, branch);
  if (tip === undefined) return true;
  const isMerged = tip === base || (await isIn(git, tip));
  // Git compares once more, because somebody may have committed meanwhile; the agent may have made a link to another branch.
  return (
    isMerged &&
    (await git.run(['update-ref', '--no-deref', '-d', `refs/heads/${branch}`, tip])).failure === undefined
  );
}

/** Whether what is checked out in a work tree has that commit. */
export async function isIn(git: HostGit, commit: string): Promise<boolean> {
  return (await git.run(['merge-base', '--is-ancestor', commit, 'HEAD'])).failure === undefined;
}

/** Removes a worktree, with its branch, if nothing has changed in it; whether it did. Parameters are those of `changesIn`. */
export async function removeUnchanged(worktree: Worktree, host: Host, limitMs?: number): Promise<boolean> {
  if (!(await isThere(worktree.folder))) return false;
  const { isUncommitted, isMoved } = await changesIn(worktree, host, limitMs);
  if (isUncommitted || isMoved) return false;
  return await removeWorktree(worktree, host);
}

/** A worktree that is gone is not made again. */
export function forgetWorktree(state: string, { folder }: Worktree): void {
  forget(state, 'worktrees', folder);
}

function worktreeIn(folder: string, value: string | undefined): Worktree | undefined {
  const { repository, branch, base, isOfSession } = objectIn(value ?? '') ?? {};
  const isWhole = [repository, branch, base].every((each) => typeof each === 'string');
  if (!isWhole) return undefined;
  const texts = { repository, branch, base } as Pick<Worktree, 'repository' | 'branch' | 'base'>;
  return { folder, ...texts, isOfSession: isOfSession === true };
}

function refusal(path: string, why: string): CaiError {
  return new CaiError('WORKSPACE', `${quoted(path)} ${why}`);
}
