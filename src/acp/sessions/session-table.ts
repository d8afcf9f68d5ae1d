/**
 * The sessions that an agent has or has lost: by the editor's id, which is unique on its connection, and by the agent's
 * id, which is unique within one child. What is remembered of other sessions is in `records`.
 */
import type { Child } from '../child/child';
import { Session, type AgentSession, type SessionFolders } from './session';
import { CallBudget, type Call } from './editor-call';
import { SessionRecords, type SessionStore } from './session-records';

/** How many lost sessions are kept. An agent could open any number by naming them, and end. */
const maxLost = 10_000;

/** How many ids of closed sessions are kept for each child. */
const maxClosed = 1_000;

export class ChildSessions {
  /** By the agent's own ids. An id names only the session that was bound to it last. */
  readonly byAgentId = new Map<string, AgentSession>();
  /** The folders of the sessions whose `session/new` is open, oldest first. */
  readonly openings: SessionFolders[] = [];
  /** Sessions that the agent spoke of before it answered `session/new`. */
  readonly early = new Set<AgentSession>();
  /** The agent's ids of sessions that were closed: what it still says of these opens no other. */
  readonly closedIds = new Set<string>();

  noteClosed(agentId: string): void {
    this.closedIds.add(agentId);
    const [oldest] = this.closedIds;
    if (this.closedIds.size > maxClosed) this.closedIds.delete(oldest!);
  }

  /** It has no session, and none is being made. */
  get isEmpty(): boolean {
    return this.byAgentId.size + this.openings.length === 0;
  }
}

export interface SessionTableOptions {
  /** Where opened sessions are noted. */
  readonly store: SessionStore;
  /** What the calls that wait for sessions may take together, in bytes. */
  readonly queueBytes: number;
  /** Gets each call that has waited for its session. */
  serve(call: Call): void;
  /** Gets each session that is about to be closed, or opened again. */
  onLeaving(session: AgentSession): void;
  /** Gets each session that no agent has any more. */
  onClose(session: AgentSession): void;
}

/** The sessions of one proxy, which runs one agent. */
export class SessionTable {
  /** What is remembered of these and other sessions. */
  readonly records: SessionRecords;
  readonly #budget: CallBudget;
  readonly #sessions = new Map<string, Session>();
  /** The lost sessions, in the order in which they were lost. */
  readonly #lost = new Set<Session>();
  readonly #ofChildren = new WeakMap<Child, ChildSessions>();

  constructor(private readonly options: SessionTableOptions) {
    this.records = new SessionRecords(options.store, (editorId) => this.find(editorId) !== undefined);
    this.#budget = new CallBudget(options.queueBytes);
  }

  /** The session with that id, in whichever state; undefined for one that is at most remembered. */
  get(editorId: string): Session | undefined {
    return this.#sessions.get(editorId);
  }

  /** The session with that id as its agent has it now. */
  find(editorId: string): AgentSession | undefined {
    return this.#sessions.get(editorId)?.atAgent;
  }

  all(): AgentSession[] {
    return [...this.#sessions.values()].map((each) => each.atAgent).filter((each) => each !== undefined);
  }

  of(child: Child): ChildSessions {
    let sessions = this.#ofChildren.get(child);
    if (sessions === undefined) this.#ofChildren.set(child, (sessions = new ChildSessions()));
    return sessions;
  }

  /** The child can be used, and has no session and no open request. */
  isIdle(child: Child): boolean {
    return child.isUsable && child.requests.size === 0 && this.of(child).isEmpty;
  }

  /** Whether an open or remembered session of any process has that id. */
  isGiven(editorId: string): boolean {
    return this.find(editorId) !== undefined || this.records.has(editorId);
  }

  /** Has calls for that session wait until `step` has settled; settles as `step` does. */
  async hold(editorId: string, step: (session: Session) => Promise<void>): Promise<void> {
    const session = this.#ensure(editorId);
    try {
      await session.hold(() => step(session));
    } finally {
      this.#prune(session);
    }
  }

  /** Opens the session with that id at an agent. Another session that had the agent's id is closed. */
  open(
    editorId: string,
    atAgent: Omit<AgentSession, 'owner' | 'editorId'>,
    state: 'open' | 'restoring' = 'open',
  ): AgentSession {
    const owner = this.#ensure(editorId);
    const { child, agentId, roots, map, openParams } = atAgent;
    const session: AgentSession = { owner, editorId, agentId, child, roots, map, openParams };
    const older = this.of(child).byAgentId.get(agentId);
    if (older !== undefined && older.owner !== owner) this.close(older);
    if (owner.atAgent !== undefined) {
      this.options.onLeaving(owner.atAgent);
      this.#unname(owner.atAgent);
    }
    this.#lost.delete(owner);
    owner.enter(session, state);
    this.of(child).byAgentId.set(agentId, session);
    this.of(child).closedIds.delete(agentId);
    this.records.opened(editorId);
    return session;
  }

  /** The call that opened the session has failed: the session is again what it was before. */
  undo(session: AgentSession): void {
    const { owner } = session;
    const isOpen = owner.atAgent === session;
    const before = owner.dismiss(session);
    if (!isOpen) return;
    this.#unname(session);
    if (before?.child.isUsable === true) {
      this.of(before.child).byAgentId.set(before.agentId, before);
    } else {
      this.#end(session);
      if (before !== undefined) this.lose(before);
    }
  }

  /** No agent has the session any more. What is remembered of it stays. */
  close(session: AgentSession): void {
    const { agentId, child, owner } = session;
    this.#unname(session);
    this.of(child).noteClosed(agentId);
    if (owner.atAgent === session) this.#end(session);
    // A call that opens it again is on its way, and does not bring this back if it fails.
    else owner.dismiss(session);
  }

  /** Its agent has ended. The session can be restored if the call that opened it is known. */
  lose(session: AgentSession): void {
    const { owner } = session;
    const settled = owner.settledBefore(session);
    this.#unname(session);
    if (owner.atAgent === session) this.#end(session);
    const isReplaced = (this.get(owner.editorId) ?? owner) !== owner;
    if (settled.openParams === undefined || owner.atAgent !== undefined || isReplaced) return;
    owner.leave(settled);
    this.#sessions.set(owner.editorId, owner);
    this.#lost.add(owner);
    const [oldest] = this.#lost;
    if (this.#lost.size > maxLost) this.giveUp(oldest!);
  }

  loseAll(child: Child): void {
    for (const session of [...this.of(child).byAgentId.values()]) this.lose(session);
  }

  /** A lost session is not to be restored any more. */
  giveUp(session: Session): void {
    if (!this.#lost.delete(session)) return;
    session.leave();
    this.#prune(session);
  }

  /** The session is gone for good. */
  forget(editorId: string): void {
    const session = this.get(editorId);
    if (session !== undefined) this.giveUp(session);
    this.records.forget(editorId);
  }

  /** From now on its id names another session. Nothing that still happens to this one has an effect. */
  drop(session: Session): void {
    if (session.atAgent !== undefined) this.close(session.atAgent);
    this.giveUp(session);
    if (this.#sessions.get(session.editorId) === session) this.#sessions.delete(session.editorId);
  }

  #ensure(editorId: string): Session {
    let session = this.#sessions.get(editorId);
    if (session !== undefined) return session;
    session = new Session(editorId, this.#budget, (call) => this.options.serve(call));
    this.#sessions.set(editorId, session);
    return session;
  }

  #unname(session: AgentSession): void {
    const { byAgentId } = this.of(session.child);
    if (byAgentId.get(session.agentId) === session) byAgentId.delete(session.agentId);
  }

  #end(session: AgentSession): void {
    this.options.onLeaving(session);
    session.owner.leave();
    this.#prune(session.owner);
    this.options.onClose(session);
  }

  /** Forgets a session that no agent has and for which no call waits. */
  #prune(session: Session): void {
    if (session.state === 'closed' && !session.isHeld && this.#sessions.get(session.editorId) === session)
      this.#sessions.delete(session.editorId);
  }
}
