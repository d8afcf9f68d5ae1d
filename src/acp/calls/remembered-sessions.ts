/** Sessions of `session/list` that no agent is asked for, from what is remembered of them. */
import { existsSync, realpathSync } from 'node:fs';
import { lastUseOf, type SessionRecord } from '../sessions/session-file';
import { titleOf } from '../sessions/session-memory';
import type { SessionRecords } from '../sessions/session-records';
import type { Workspace } from '../../workspace/root';

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
  isWanted: (record: SessionRecord) => boolean,
): SessionRecord[] {
  const isThere = once(existsSync);
  const isFolder = once((cwd) => isSame(cwd, folder!));
  return records
    .remembered()
    .filter((record) => record.updatedAt !== undefined && isWanted(record))
    .filter(({ cwd, root }) => folder === undefined || (root === folder.root && isFolder(cwd)))
    .filter(({ root }) => isThere(root))
    .sort((one, other) => lastUseOf(other) - lastUseOf(one));
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

function once(look: (path: string) => boolean): (path: string) => boolean {
  const known = new Map<string, boolean>();
  return (path) => {
    const found = known.get(path) ?? look(path);
    known.set(path, found);
    return found;
  };
}
