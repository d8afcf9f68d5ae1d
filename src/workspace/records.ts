/**
 * What the user has agreed to, and what was first seen: the exact content of a repository's config file, and how wide the
 * workspace of a folder is. Small files in our state folder, one for each path, which no agent can write.
 */
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { posix } from 'node:path';
import { CaiError, messageOf } from '../errors';
import { replaceFile } from '../system/files/replace-file';
import { recordName } from '../system/state-folder';
import { objectIn, unlessFails, writing } from '../system/unless';

/**
 * What a record says of a path. `trusted`: the digest with which the user trusts a repository's file, and what it
 * names. `roots`: the root that a working directory belongs to. `git-folders`: the git folder outside of a root, empty
 * for none. `worktrees`: what we have made at that path, as `worktrees/worktrees.ts` writes it. `used`: when a
 * container of a root was last used. `made-folders`: the topmost folder that was made for a file of settings.
 */
type RecordKind = 'trusted' | 'roots' | 'git-folders' | 'worktrees' | 'used' | 'made-folders';

/** How old a record of the last use may become, in milliseconds: each command would write it otherwise. */
const useMs = 60 * 60 * 1_000;

/** `undefined`: nothing is recorded of that path, or the record is damaged. */
export function recorded(state: string, kind: RecordKind, path: string): string | undefined {
  const record = recordIn(recordFile(state, kind, path));
  return record.path === path ? record.value : undefined;
}

/** Takes the place of what was recorded of that path before. Fails with `CaiError('CONFIG')`. */
export function record(state: string, kind: RecordKind, path: string, value: string): void {
  const file = recordFile(state, kind, path);
  writing(posix.dirname(file), () => replaceFile(file, `${JSON.stringify({ path, value })}\n`));
}

/** Records of a path what has no record yet. Without a place for records, work goes on: the path is then as new. */
export function recordFirst(state: string, kind: RecordKind, path: string, value: string): void {
  if (recorded(state, kind, path) === undefined) unlessFails(() => record(state, kind, path, value));
}

/**
 * Records that a container of a root (a real path) is used now, for `cai prune --unused`, if that was not recorded within
 * an hour. `undefined`: it has no workspace.
 */
export function recordUse(state: string, root: string | undefined): void {
  const now = Date.now();
  if (root === undefined || now - (recordedUse(state, root) ?? -Infinity) < useMs) return;
  unlessFails(() => record(state, 'used', root, new Date(now).toISOString()));
}

/** When a container of a root was last used, to an hour, in milliseconds since 1970; `undefined`: that is not known. */
export function recordedUse(state: string, root: string): number | undefined {
  const at = Date.parse(recorded(state, 'used', root) ?? '');
  return Number.isNaN(at) ? undefined : at;
}

/** Removes a record; returns whether there was one. Fails with `CaiError('CONFIG')`. */
export function forget(state: string, kind: RecordKind, path: string): boolean {
  const wasThere = recorded(state, kind, path) !== undefined;
  try {
    rmSync(recordFile(state, kind, path), { force: true });
  } catch (reason) {
    throw new CaiError('CONFIG', `what was trusted cannot be forgotten: ${messageOf(reason)}`);
  }
  return wasThere;
}

/** Every root that a folder was recorded for: agents write in them, or have done. */
export function recordedRoots(state: string): string[] {
  return [...new Set(allRecorded(state, 'roots').flatMap(({ value }) => value ?? []))];
}

export function allRecorded(state: string, kind: RecordKind): ReturnType<typeof recordIn>[] {
  const folder = posix.join(state, kind);
  const names = unlessFails(() => readdirSync(folder)) ?? [];
  return names.map((name) => recordIn(posix.join(folder, name)));
}

/** The file that a record is in. */
export function recordFile(state: string, kind: RecordKind, path: string): string {
  return posix.join(state, kind, `${recordName(path)}.json`);
}

function recordIn(file: string): { readonly path?: unknown; readonly value?: string } {
  const { path, value } = objectIn(unlessFails(() => readFileSync(file, 'utf8'))) ?? {};
  return typeof value === 'string' ? { path, value } : {};
}
