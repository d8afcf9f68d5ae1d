/** Sessions of `session/list` that no agent is asked for, from what is remembered of them. */
import { existsSync, realpathSync } from 'node:fs';
import type { Host } from '../../system/host';
import { isInside } from '../../system/paths/is-inside';
import { jsonUnlessDeep } from '../../system/unless';
import type { Child } from '../child/child';
import { lastUseOf, type SessionRecord } from '../sessions/session-record';
import { titleOf } from '../sessions/session-memory';
import type { SessionRecords } from '../sessions/session-records';
import type { Workspace } from '../../workspace/root';
import { worktreeAt } from '../../workspace/worktrees/worktrees';

/** By how much an agent's time of the last activity has to be later than ours to count, in milliseconds. */
const toleranceMs = 60_000;

/**
 * The wanted sessions that were used and can be opened again, the one used last first; with `folder` only sessions of that
 * working directory, however it was spelled. One whose workspace is not there, say on a disk that is not mounted, is
 * left out as long as that is so.
 */
export function rememberedSessions(
  records: SessionRecords,
  folder: Workspace | undefined,
  { folders }: Host,
  isWanted: (record: SessionRecord) => boolean,
): SessionRecord[] {
  const worktree = once((root) => worktreeAt(folders.state, root));
  // A worktree that is gone is made again.
  const isThere = once((root) => existsSync(root) || existsSync(worktree(root)?.repository ?? root));
  const isFolder = once((cwd) => isSame(cwd, folder!));
  return records
    .remembered()
    .filter((record) => record.updatedAt !== undefined && isWanted(record))
    .filter(({ cwd, root }) => {
      const isIn = folder === undefined || root === folder.root || worktree(root)?.repository === folder.root;
      return isIn && (folder === undefined || isFolder(cwd));
    })
    .filter(({ root }) => isThere(root))
    .sort((one, other) => lastUseOf(other) - lastUseOf(one));
}

/** Of each workspace that is `folder`, or a session's worktree of it, the first child. */
export function childrenIn(folder: Workspace, children: readonly Child[], { folders }: Host): Child[] {
  const found = new Map<string, Child>();
  for (const child of children) {
    const { root } = child;
    if (root === undefined || found.has(root)) continue;
    if (root === folder.root || worktreeAt(folders.state, root)?.repository === folder.root)
      found.set(root, child);
  }
  return [...found.values()];
}

/**
 * A row of an agent's list, JSON text: a session in a worktree is one of the folder in which the editor has made it. A row
 * that is nested too deeply to be written again stays as it is.
 */
export function inEditorsFolder(row: string, record: SessionRecord | undefined, { folders }: Host): string {
  if (record === undefined || isInside(record.cwd, record.root)) return row;
  if (worktreeAt(folders.state, record.root) === undefined) return row;
  return jsonUnlessDeep({ ...(JSON.parse(row) as object), cwd: record.cwd }) ?? row;
}

/** Remembers what an agent's list says of a session: `id` is the editor's, `row` the agent's `SessionInfo`. */
export function rememberRow(
  records: SessionRecords,
  id: string,
  row: Readonly<Record<string, unknown>>,
): void {
  const record = records.recall(id);
  if (record === undefined) return;
  const { title = '', updatedAt } = record;
  const told = typeof row.updatedAt === 'string' ? Date.parse(row.updatedAt) : NaN;
  const isLater = updatedAt === undefined || told > Date.parse(updatedAt) + toleranceMs;
  const newTitle = titleOf(row.title) ?? title;
  if (!isLater && newTitle === title) return;
  const now = Date.now();
  const time = isLater ? new Date(Math.min(Number.isNaN(told) ? now : told, now)).toISOString() : updatedAt;
  records.update(id, { updatedAt: time, title: newTitle === '' ? undefined : newTitle });
}

function isSame(cwd: string, { cwd: spelled, realCwd }: Workspace): boolean {
  if (cwd === spelled || cwd === realCwd) return true;
  try {
    return realpathSync(cwd) === realCwd;
  } catch {
    return false;
  }
}

function once<T>(look: (path: string) => T): (path: string) => T {
  const known = new Map<string, { readonly found: T }>();
  return (path) => {
    const { found } = known.get(path) ?? { found: look(path) };
    known.set(path, { found });
    return found;
  };
}
