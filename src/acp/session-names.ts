/**
 * Between agents' ids of sessions and the editor's, and the sessions that an agent opens by naming them:
 * subagents, and those whose `session/new` it has not answered yet.
 */
import { fieldOf, textOf } from '../rpc/scan';
import type { Message } from '../rpc/scan';
import type { SessionTable } from '../session/session-table';
import type { Session, WorkspaceChild } from '../session/workspace-child';
import { isInside } from '../workspace/path-map';
import type { PathMap } from '../workspace/path-map';

/** How many sessions one agent may open by merely naming them. */
const maxSessions = 1_000;

/** The ids of one proxy. */
export class SessionNames {
  /** Opens what is new in `sessions`. */
  constructor(private readonly sessions: SessionTable) {}

  /** The open session of a child that a message of its agent names, if any. */
  sessionOf(child: WorkspaceChild, message: Message): Session | undefined {
    const field = fieldOf(message, 'session');
    if (field?.isString !== true) return undefined;
    const agentId = textOf(message, field);
    return child.sessions.get(agentId) ?? this.#openEarly(child, agentId);
  }

  /**
   * The editor's id for an agent's. Besides open sessions, one that the agent names for the first time
   * in the context of another (a subagent) is opened with that one's roots, and restored as that one is.
   */
  editorIdOf(child: WorkspaceChild, agentId: string, like: Session | undefined): string | undefined {
    const known = child.sessions.get(agentId);
    if (known !== undefined) return known.editorId;
    if (like === undefined || child.sessions.size >= maxSessions) return undefined;
    const given = this.#derivedId(child, agentId, like.roots[0] ?? '', like.map);
    if (this.sessions.find(given) !== undefined) return this.openNew(child, agentId, like).editorId;
    const { roots, map, opening } = like;
    this.sessions.open({ editorId: given, agentId, child, roots, map, opening });
    return given;
  }

  /** The editor's id for an agent's that stands in a list, with its folder as the agent names it. */
  listedIdOf(child: WorkspaceChild, agentId: string, cwd: string, map: PathMap): string {
    return child.sessions.get(agentId)?.editorId ?? this.#derivedId(child, agentId, map.toEditor(cwd), map);
  }

  /** The agent's id for an editor's: that of an open session of the child, else the remembered one. */
  agentIdOf(child: WorkspaceChild, editorId: string, session?: Session): string | undefined {
    if (session?.editorId === editorId) return session.agentId;
    const open = this.sessions.find(editorId);
    return open?.child === child ? open.agentId : this.sessions.recall(editorId)?.agentId;
  }

  /** Opens a session that the agent has just made. */
  openNew(
    child: WorkspaceChild,
    agentId: string,
    { roots, map, opening }: Pick<Session, 'roots' | 'map' | 'opening'>,
  ): Session {
    const editorId = this.sessions.idForNew(agentId, child.root ?? '', roots[0] ?? '');
    const session: Session = { editorId, agentId, child, roots, map, opening };
    this.sessions.open(session);
    return session;
  }

  /** A session whose `session/new` is still open: its updates may come before that is answered. */
  #openEarly(child: WorkspaceChild, agentId: string): Session | undefined {
    const opening = child.openings[0];
    if (opening === undefined || child.early.size >= child.openings.length) return undefined;
    const session = this.openNew(child, agentId, opening);
    child.early.add(session);
    return session;
  }

  /**
   * A session that only a list speaks of belongs to the workspace of its own working directory. Where agents of
   * several workspaces see theirs at the same place, one that is known is where it is known to be.
   */
  #derivedId(child: WorkspaceChild, agentId: string, cwd: string, map: PathMap): string {
    const names = child.root === undefined ? [] : [child.root, ...map.hostRoots];
    const own = names.some((name) => isInside(cwd, name)) ? child.root : undefined;
    const root = own ?? this.sessions.rootOf(cwd) ?? cwd;
    return this.sessions.idForKnown(agentId, root, cwd, own !== undefined && !map.isIdentity);
  }
}
