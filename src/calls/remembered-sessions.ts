/** Rows of `session/list` for sessions that no agent is asked for, from what is remembered of them. */
import { existsSync, realpathSync } from 'node:fs';
import { lastUseOf } from '../sessions/session-file';
import type { SessionRecord } from '../sessions/session-file';
import type { SessionTable } from '../sessions/session-table';
import type { Workspace } from '../workspace/root';
import { titleOf } from '../sessions/session-memory';

/** Which of the remembered sessions are wanted. */
export interface RememberedFilter {
  /** Only those of this working directory, however it was spelled. */
  readonly folder?: Workspace | undefined;
  /** None of these workspaces: their agents have said all. */
  readonly besides: ReadonlySet<string | undefined>;
  /** Whether the one with that id, the editor's, was listed already. */
  isListed(id: string): boolean;
}

/** By how much an agent's time of the last activity has to be later than ours to count, in milliseconds. */
const toleranceMs = 60_000;

/**
 * The sessions that were used and can be opened again, the one used last first. One whose workspace is not
 * there, say on a disk that is not mounted, is left out as long as that is so.
 */
export function rememberedSessions(sessions: SessionTable, filter: RememberedFilter): SessionRecord[] {
  const isThere = new Map<string, boolean>();
  const folders = new Map<string, boolean>();
  return sessions.records
    .remembered()
    .filter(({ id, root, updatedAt }) => {
      return updatedAt !== undefined && !filter.isListed(id) && !filter.besides.has(root);
    })
    .filter(({ cwd, root }) => {
      const { folder } = filter;
      return folder === undefined || (root === folder.root && once(folders, cwd, () => isSame(cwd, folder)));
    })
    .filter(({ root }) => once(isThere, root, () => existsSync(root)))
    .sort((one, other) => lastUseOf(other) - lastUseOf(one));
}

/** A `SessionInfo`, JSON text. Source: ACP v1. */
export function rowOf({ id, cwd, title, updatedAt }: SessionRecord): string {
  return JSON.stringify({ sessionId: id, cwd, title, updatedAt });
}

/** Remembers what an agent's list says of a session: `id` is the editor's, `row` the agent's `SessionInfo`. */
export function rememberRow(
  sessions: SessionTable,
  id: string,
  row: Readonly<Record<string, unknown>>,
): void {
  const record = sessions.records.recall(id);
  if (record === undefined) return;
  const { title = '', updatedAt } = record;
  const told = typeof row.updatedAt === 'string' ? Date.parse(row.updatedAt) : NaN;
  const isLater = updatedAt === undefined || told > Date.parse(updatedAt) + toleranceMs;
  const newTitle = titleOf(row.title) ?? title;
  if (!isLater && newTitle === title) return;
  const now = Date.now();
  const time = isLater ? new Date(Math.min(Number.isNaN(told) ? now : told, now)).toISOString() : updatedAt;
  sessions.records.update(id, { updatedAt: time, title: newTitle === '' ? undefined : newTitle });
}

function isSame(cwd: string, { cwd: spelled, realCwd }: Workspace): boolean {
  if (cwd === spelled || cwd === realCwd) return true;
  try {
    return realpathSync(cwd) === realCwd;
  } catch {
    return false;
  }
}

function once(known: Map<string, boolean>, key: string, look: () => boolean): boolean {
  const found = known.get(key) ?? look();
  known.set(key, found);
  return found;
}
