import type { Child } from '../../src/acp/child/child';
import type { PathMap } from '../../src/system/paths/path-map';
import { Core } from '../../src/acp/relay/core';
import { LineWriter } from '../../src/rpc/writer';
import type { AgentSession } from '../../src/acp/sessions/session';
import type { SessionFile } from '../../src/acp/sessions/session-file';
import type { SessionStore } from '../../src/acp/sessions/session-records';
import { SessionTable } from '../../src/acp/sessions/session-table';
import { SignIn } from '../../src/acp/sign-in/sign-in';
import type { Host } from '../../src/system/host';
import type { Log } from '../../src/system/log';
import { Gate } from '../rpc/gate';

/** For the calls that wait, in bytes. */
const queueBytes = 65_536;

/** The sessions of the agent "claude", of all workspaces. */
export function storeIn(file?: SessionFile, agent = 'claude'): SessionStore {
  return { agent, file, isAllowed: () => true };
}

/** A table for the agent "claude", with room for 64 KiB of calls. */
export function newTable(
  file?: SessionFile,
  onClose: (session: AgentSession) => void = () => undefined,
  onLeaving: (session: AgentSession) => void = () => undefined,
): SessionTable {
  return new SessionTable({ store: storeIn(file), queueBytes, serve: () => undefined, onLeaving, onClose });
}

/** The core of a proxy that remembers nothing and serves nothing again; what it answers itself is dropped. */
export function newCore(host: Host, log: Log): Core {
  return new Core({
    sessions: storeIn(),
    queueBytes,
    lane: new LineWriter(new Gate(), 1_024, () => undefined).lane(() => undefined),
    log,
    signIn: new SignIn({ agent: undefined, host, log }),
    serve: () => undefined,
  });
}

/** Opens a session without folders in a table. */
export function openSession(
  table: SessionTable,
  child: Child,
  editorId: string,
  agentId: string,
  more: Partial<AgentSession> = {},
): AgentSession {
  const map = undefined as unknown as PathMap;
  return table.open(editorId, { agentId, child, roots: [], map, ...more });
}
