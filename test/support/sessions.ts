import type { WorkspaceChild } from '../../src/child/workspace-child';
import type { PathMap } from '../../src/paths/path-map';
import type { SessionFile } from '../../src/sessions/session-file';
import { SessionRecords } from '../../src/sessions/session-records';
import { SessionTable } from '../../src/sessions/session-table';
import { WaitingRoom } from '../../src/sessions/waiting-room';
import type { AgentSession } from '../../src/sessions/session';

/** A table for the agent "claude", with room for 64 KiB of calls. */
export function newTable(file?: SessionFile): SessionTable {
  return new SessionTable(new SessionRecords('claude', file), new WaitingRoom(65_536));
}

/** Opens a session without folders in a table. */
export function openSession(
  table: SessionTable,
  child: WorkspaceChild,
  editorId: string,
  agentId: string,
  more: Partial<AgentSession> = {},
): AgentSession {
  const map = undefined as unknown as PathMap;
  return table.open(editorId, { agentId, child, roots: [], map, ...more });
}
