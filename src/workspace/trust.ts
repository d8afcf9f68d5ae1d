/**
 * What the user has agreed to: the exact content of a repository's config file, and how wide the workspace
 * of a folder is. Small files in our state folder, one for each path, which no agent can write.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { posix } from 'node:path';
import type { Host } from '../system/host';
import { CaiError, messageOf } from '../errors';
import { isInside } from '../paths/path-map';
import { quoted } from '../system/quoted';
import { resolvePath } from '../system/real-path';
import { replaceFile } from '../system/replace-file';
import { findWorkspace, type Workspace } from './root';

/**
 * What is recorded: the digest of a repository's file, the root that a folder belongs to, or the git folder outside of
 * a root.
 */
type RecordKind = 'trusted' | 'roots' | 'git-folders';

/** Whether the user trusts `file` with the content of that digest. */
export function isTrusted(state: string, file: string, digest: string): boolean {
  return read(state, 'trusted', file) === digest;
}

/** From now on `file` is trusted with that content, and no longer with another. Fails with `CaiError('CONFIG')`. */
export function trustFile(state: string, file: string, digest: string): void {
  write(state, 'trusted', file, digest);
}

/** From now on `file` is trusted with no content; whether it was with one. Fails with `CaiError('CONFIG')`. */
export function forgetFile(state: string, file: string): boolean {
  return remove(state, 'trusted', file);
}

/**
 * The root that was recorded for a working directory as it is spelled, if `root`, which it has now, is
 * neither that nor below it.
 */
export function outgrownRoot(state: string, cwd: string, root: string): string | undefined {
  const recorded = read(state, 'roots', cwd);
  return recorded === undefined || isInside(root, recorded) ? undefined : recorded;
}

/**
 * Lets a working directory, as it is spelled, belong to `root` if it never had another, which is recorded,
 * or one that is no narrower. A narrower one is not recorded: it can be git's, which once took too long.
 * Fails with `CaiError('WORKSPACE')` for a wider root or one elsewhere: what the agent or a stranger changes in a
 * repository must not choose what is mounted. A record that cannot be read or written is none: the folder is then
 * as new each time.
 */
export function checkRoot(state: string, cwd: string, root: string): void {
  const recorded = read(state, 'roots', cwd);
  if (recorded !== undefined) {
    if (isInside(root, recorded)) return;
    const folder = quoted(cwd);
    throw new CaiError(
      'WORKSPACE',
      `${folder} belonged to the workspace ${quoted(recorded)} and now leads to ${quoted(root)}, which holds more or lies elsewhere: if that is right, run: cai trust ${folder}`,
    );
  }
  try {
    write(state, 'roots', cwd, root);
  } catch {
    // Without a place for records, work goes on.
  }
}

/** Whether the user has ever worked in a workspace with that root. */
export function isKnownRoot(state: string, root: string): boolean {
  return recordedRoots(state).includes(root);
}

/**
 * The recorded root that a working directory is spelled through and does not lie in, because of a link there: an
 * agent may have made that link. `undefined`: none, or the directory has a record of its own.
 */
export async function rootLeftByLink(
  state: string,
  { cwd, realCwd, root }: Workspace,
): Promise<string | undefined> {
  if (cwd === realCwd || read(state, 'roots', cwd) !== undefined) return undefined;
  const { links } = await resolvePath(cwd);
  return recordedRoots(state).find(
    (recorded) => !isInside(root, recorded) && links.some((link) => isInside(link, recorded)),
  );
}

/** Rejects with `CaiError('WORKSPACE')` for a workspace that `rootLeftByLink` knows one for. */
export async function checkLinks(state: string, workspace: Workspace): Promise<void> {
  const left = await rootLeftByLink(state, workspace);
  if (left === undefined) return;
  const [folder, root] = [quoted(workspace.cwd), quoted(workspace.root)];
  throw new CaiError(
    'WORKSPACE',
    `${folder} leads to ${root} by a link in the workspace ${quoted(left)}, where an agent can make links: if that is right, run: cai trust ${folder}`,
  );
}

/**
 * The workspace of a working directory, found and checked. Rejects as `findWorkspace`, `checkLinks` and `checkRoot`
 * do.
 */
export async function findCheckedWorkspace(cwd: string, host: Host): Promise<Workspace> {
  const workspace = await findWorkspace(cwd, { host });
  await checkLinks(host.folders.state, workspace);
  checkRoot(host.folders.state, workspace.cwd, workspace.root);
  return workspace;
}

/** From now on the working directory belongs to `root`. Fails with `CaiError('CONFIG')`. */
export function trustRoot(state: string, cwd: string, root: string): void {
  write(state, 'roots', cwd, root);
}

/** From now on the working directory is as new; whether it had a root. Fails with `CaiError('CONFIG')`. */
export function forgetRoot(state: string, cwd: string): boolean {
  return remove(state, 'roots', cwd);
}

/** The git folder outside of it that a root is known to have, empty for none; `undefined`: the root was never used. */
export function recordedGitFolder(state: string, root: string): string | undefined {
  return read(state, 'git-folders', root);
}

/** From now on a root has that git folder outside of it, or none if that is empty. Fails with `CaiError('CONFIG')`. */
export function recordGitFolder(state: string, root: string, folder: string): void {
  write(state, 'git-folders', root, folder);
}

/** From now on no root was ever used with that one; whether it was. Fails with `CaiError('CONFIG')`. */
export function forgetGitFolder(state: string, root: string): boolean {
  return remove(state, 'git-folders', root);
}

function fileOf(state: string, kind: RecordKind, path: string): string {
  const name = createHash('sha256').update(path).digest('hex');
  return posix.join(folderOf(state, kind), `${name}.json`);
}

function folderOf(state: string, kind: RecordKind): string {
  return posix.join(state, kind);
}

/** `undefined` too for a record that is damaged. */
function read(state: string, kind: RecordKind, path: string): string | undefined {
  const { path: recorded, value } = recordIn(fileOf(state, kind, path));
  return recorded === path ? value : undefined;
}

/** Every root that a folder was recorded for: agents write in them, or have done. */
export function recordedRoots(state: string): string[] {
  const folder = folderOf(state, 'roots');
  try {
    const values = readdirSync(folder).map((name) => recordIn(posix.join(folder, name)).value);
    return [...new Set(values.filter((value) => value !== undefined))];
  } catch {
    // Nothing was recorded yet.
    return [];
  }
}

function recordIn(file: string): { readonly path?: unknown; readonly value?: string } {
  try {
    const record = JSON.parse(readFileSync(file, 'utf8')) as { path?: unknown; value?: unknown } | null;
    return typeof record?.value === 'string' ? { path: record.path, value: record.value } : {};
  } catch {
    return {};
  }
}

function write(state: string, kind: RecordKind, path: string, value: string): void {
  const file = fileOf(state, kind, path);
  try {
    replaceFile(file, `${JSON.stringify({ path, value })}\n`);
  } catch (reason) {
    throw new CaiError('CONFIG', `${posix.dirname(file)} cannot be written: ${messageOf(reason)}`);
  }
}

function remove(state: string, kind: RecordKind, path: string): boolean {
  const wasThere = read(state, kind, path) !== undefined;
  try {
    rmSync(fileOf(state, kind, path), { force: true });
  } catch (reason) {
    throw new CaiError('CONFIG', `what was trusted cannot be forgotten: ${messageOf(reason)}`);
  }
  return wasThere;
}
