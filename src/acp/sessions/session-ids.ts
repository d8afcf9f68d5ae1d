/**
 * Between agents' ids of sessions and the editor's, and the sessions that an agent opens by naming them:
 * subagents, and those whose `session/new` it has not answered yet.
 */
import type { Log } from '../../system/log';
import { stringOf, type Message } from '../../rpc/message';
import type { Child } from '../child/child';
import type { AgentSession, SessionFolders } from './session';
import type { SessionTable } from './session-table';
import { type PathMap } from '../../system/paths/path-map';
import { isInside } from '../../system/paths/is-inside';

/** How many sessions one agent may open by merely naming them. */
const maxSessions = 1_000;
/** How many of the sessions that the agents of one workspace only list are written to the file. */
const maxListed = 1_000;

export class SessionIds {
  /** How many of these there were, by the root of the workspace. */
  readonly #listed = new Map<string | undefined, number>();
  /** The children whose agents name too many sessions, which was logged. */
  readonly #told = new WeakSet<Child>();

  constructor(
    private readonly sessions: SessionTable,
    private readonly log: Log,
  ) {}

  /** The open session of a child that a message of its agent names, if any. */
  sessionOf(child: Child, message: Message): AgentSession | undefined {
    const agentId = sessionIdOf(message);
    if (agentId === undefined) return undefined;
    return this.sessions.of(child).byAgentId.get(agentId) ?? this.#openEarly(child, agentId);
  }

  /**
   * The editor's id for an agent's. Besides open sessions, one that the agent names for the first time
   * in the context of another (a subagent) is opened with that one's roots, and restored as that one is.
   */
  editorIdOf(child: Child, agentId: string, like: AgentSession | undefined): string | undefined {
    const { byAgentId } = this.sessions.of(child);
    const known = byAgentId.get(agentId);
    if (known !== undefined || like === undefined) return known?.editorId;
    if (byAgentId.size >= maxSessions) {
      this.#tellTooMany(child);
      return undefined;
    }
    const given = this.#derivedId(child, agentId, like.roots[0]?.spelled ?? '', like.map);
    if (this.sessions.find(given) !== undefined) return this.openNew(child, agentId, like).editorId;
    return this.sessions.open(given, { ...like, agentId, child }).editorId;
  }

  /**
   * The editor's id for an agent's that stands in a list, with its folder as the agent names it. A list may have
   * any number of sessions that nobody ever opens, so that only some of them are written down.
   */
  listedIdOf(child: Child, agentId: string, cwd: string, map: PathMap): string {
    const isWritten = (): boolean => {
      const count = (this.#listed.get(child.root) ?? 0) + 1;
      this.#listed.set(child.root, count);
      return count <= maxListed;
    };
    const open = this.sessions.of(child).byAgentId.get(agentId)?.editorId;
    return open ?? this.#derivedId(child, agentId, map.toEditor(cwd), map, isWritten);
  }

  /** The agent's id for an editor's: that of an open session of the child, else the remembered one. */
  agentIdOf(child: Child, editorId: string, session?: AgentSession): string | undefined {
    if (session?.editorId === editorId) return session.agentId;
    const open = this.sessions.find(editorId);
    return open?.child === child ? open.agentId : this.sessions.records.recall(editorId)?.agentId;
  }

  /** Opens a session that the agent has just made. */
  openNew(child: Child, agentId: string, folders: SessionFolders): AgentSession {
    const cwd = folders.editorCwd ?? folders.roots[0]?.spelled ?? '';
    const editorId = this.sessions.records.idForNew(agentId, child.root ?? '', cwd);
    return this.sessions.open(editorId, { ...folders, agentId, child });
  }

  /** A session whose `session/new` is still open: its updates may come before that is answered. */
  #openEarly(child: Child, agentId: string): AgentSession | undefined {
    const { closedIds, early, openings } = this.sessions.of(child);
    const opening = openings[0];
    if (opening === undefined || early.size >= openings.length || closedIds.has(agentId)) return undefined;
    const session = this.openNew(child, agentId, opening);
    early.add(session);
    return session;
  }

  /**
   * A session that was not opened belongs to the workspace of its working directory. Where agents of several
   * workspaces see theirs at the same place, a known session stays where it is known to be.
   */
  #derivedId(child: Child, agentId: string, cwd: string, map: PathMap, isWritten?: () => boolean): string {
    const names = child.root === undefined ? [] : [child.root, ...map.hostRoots];
    const own = names.some((name) => isInside(cwd, name)) ? child.root : undefined;
    const { records } = this.sessions;
    const anywhere = own !== undefined && !map.isIdentity;
    return records.idForKnown(agentId, own ?? records.rootOf(cwd) ?? cwd, cwd, anywhere, isWritten);
  }

  #tellTooMany(child: Child): void {
    if (this.#told.has(child)) return;
    this.#told.add(child);
    this.log.warn(
      { root: child.root, maxSessions },
      'the agent has too many sessions open: further sessions are not served, and keep the ids of the agent',
    );
  }
}

/** The session id that a message's params or result name first. */
export function sessionIdOf(message: Message): string | undefined {
  return stringOf(message, 'session');
}
