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
import { unlessFails } from '../system/state-folder';
import { findWorkspace, type Workspace } from './root';

/**
 * What a record says of a path. `trusted`: the digest with which the user trusts a repository's file. `roots`: the
 * root that a working directory belongs to. `git-folders`: the git folder outside of a root, empty for none.
 */
type RecordKind = 'trusted' | 'roots' | 'git-folders';

/** `undefined`: nothing is recorded of that path, or the record is damaged. */
export function recorded(state: string, kind: RecordKind, path: string): string | undefined {
  const record = recordIn(fileOf(state, kind, path));
  return record.path === path ? record.value : undefined;
}

/** Takes the place of what was recorded of that path before. Fails with `CaiError('CONFIG')`. */
export function record(state: string, kind: RecordKind, path: string, value: string): void {
  const file = fileOf(state, kind, path);
  try {
    replaceFile(file, `${JSON.stringify({ path, value })}\n`);
  } catch (reason) {
    throw new CaiError('CONFIG', `${posix.dirname(file)} cannot be written: ${messageOf(reason)}`);
  }
}

/** Records of a path what has no record yet. Without a place for records, work goes on: the path is then as new. */
export function recordFirst(state: string, kind: RecordKind, path: string, value: string): void {
  if (recorded(state, kind, path) === undefined) unlessFails(() => record(state, kind, path, value));
}

/** Removes a record; returns whether there was one. Fails with `CaiError('CONFIG')`. */
export function forget(state: string, kind: RecordKind, path: string): boolean {
  const wasThere = recorded(state, kind, path) !== undefined;
  try {
    rmSync(fileOf(state, kind, path), { force: true });
  } catch (reason) {
    throw new CaiError('CONFIG', `what was trusted cannot be forgotten: ${messageOf(reason)}`);
  }
  return wasThere;
}

/** Every root that a folder was recorded for: agents write in them, or have done. */
export function recordedRoots(state: string): string[] {
  const folder = posix.join(state, 'roots');
  const names = unlessFails(() => readdirSync(folder)) ?? [];
  return [...new Set(names.flatMap((name) => recordIn(posix.join(folder, name)).value ?? []))];
}

/** The root that was recorded for a working directory, if `root`, which it has now, is neither that nor below it. */
export function outgrownRoot(state: string, cwd: string, root: string): string | undefined {
  const known = recorded(state, 'roots', cwd);
  return known === undefined || isInside(root, known) ? undefined : known;
}

/**
 * The recorded root that a working directory is spelled through and does not lie in, because of a link there: an
 * agent may have made that link. `undefined`: none, or the directory has a record of its own.
 */
export async function rootLeftByLink(
  state: string,
  { cwd, realCwd, root }: Workspace,
): Promise<string | undefined> {
  if (cwd === realCwd || recorded(state, 'roots', cwd) !== undefined) return undefined;
  const { links } = await resolvePath(cwd);
  return recordedRoots(state).find(
    (known) => !isInside(root, known) && links.some((link) => isInside(link, known)),
  );
}

/**
 * Fails with `CaiError('WORKSPACE')` for a root that is wider than the one that was recorded for the working directory
 * as it is spelled, or lies elsewhere: what the agent or a stranger changes in a repository must not choose what is
 * mounted. Records the root of a directory that has no record, unless `isOnlyLookedAt`. A narrower root is not
 * recorded: it can be git's, which once took too long.
 */
export function checkRoot(state: string, cwd: string, root: string, isOnlyLookedAt = false): void {
  const outgrown = outgrownRoot(state, cwd, root);
  if (outgrown !== undefined)
    throw new CaiError(
      'WORKSPACE',
      `${quoted(cwd)} belonged to the workspace ${quoted(outgrown)} and now leads to ${quoted(root)}, which holds more or lies elsewhere: if that is right, run: cai trust ${quoted(cwd)}`,
    );
  if (!isOnlyLookedAt) recordFirst(state, 'roots', cwd, root);
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

/** The workspace of a working directory. Rejects as `findWorkspace`, `checkLinks` and `checkRoot` do. */
export async function findCheckedWorkspace(cwd: string, host: Host): Promise<Workspace> {
  const workspace = await findWorkspace(cwd, { host });
  await checkLinks(host.folders.state, workspace);
  checkRoot(host.folders.state, workspace.cwd, workspace.root);
  return workspace;
}

function fileOf(state: string, kind: RecordKind, path: string): string {
  const name = createHash('sha256').update(path).digest('hex');
  return posix.join(state, kind, `${name}.json`);
}

function recordIn(file: string): { readonly path?: unknown; readonly value?: string } {
  const read = () => JSON.parse(readFileSync(file, 'utf8')) as { path?: unknown; value?: unknown } | null;
  const record = unlessFails(read);
  return typeof record?.value === 'string' ? { path: record.path, value: record.value } : {};
}
