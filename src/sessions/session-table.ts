/**
 * The sessions that an id stands for while an agent has them or has lost them: by the editor's id, which is unique on
 * its connection, and by an agent's, which is unique within one child. What is remembered beyond that is in `records`.
 */
import type { WorkspaceChild } from '../child/workspace-child';
import { Session } from './session';
import type { AgentSession, Place } from './session';
import type { SessionRecords } from './session-records';
import type { WaitingRoom } from './waiting-room';

/** How many sessions of agents that have ended are kept: agents, which end as they like, open them by naming them. */
const maxLost = 10_000;

/** The sessions of one child. */
export class ChildSessions {
  /** By the agent's own ids. An id names only the session that was bound to it last. */
  readonly byAgentId = new Map<string, AgentSession>();
  /** Where the sessions belong whose `session/new` is open, oldest first. */
  readonly openings: Place[] = [];
  /** Sessions that the agent spoke of before it answered `session/new`. */
  readonly early = new Set<AgentSession>();

  /** It has no session, and none is being made. */
  get isEmpty(): boolean {
    return this.byAgentId.size + this.openings.length === 0;
  }
}

/** The sessions of one proxy, which runs one agent. */
export class SessionTable {
  /** Told of each session that no agent has any more. */
  onClose: ((session: AgentSession) => void) | undefined;
  readonly #sessions = new Map<string, Session>();
  /** Those that are lost, the one lost first at the beginning. */
  readonly #lost = new Set<Session>();
  readonly #ofChildren = new WeakMap<WorkspaceChild, ChildSessions>();

  /** What is opened is noted in `records`; calls that have to wait do so in `room`. */
  constructor(
    readonly records: SessionRecords,
    readonly room: WaitingRoom,
  ) {
    records.isOpen = (editorId) => this.find(editorId) !== undefined;
  }

  /** The session with that id, in whichever state; undefined for one that is at most remembered. */
  get(editorId: string): Session | undefined {
    return this.#sessions.get(editorId);
  }

  /** The session with that id as its agent has it now. */
  find(editorId: string): AgentSession | undefined {
    return this.#sessions.get(editorId)?.open;
  }

  /** Every session that an agent has. */
  all(): AgentSession[] {
    return [...this.#sessions.values()].map(({ open }) => open).filter((open) => open !== undefined);
  }

  /** The sessions of a child. */
  of(child: WorkspaceChild): ChildSessions {
    let sessions = this.#ofChildren.get(child);
    if (sessions === undefined) this.#ofChildren.set(child, (sessions = new ChildSessions()));
    return sessions;
  }

  /** The child has no session and nothing open, and could have. */
  isIdle(child: WorkspaceChild): boolean {
    return child.isUsable && child.open.size === 0 && this.of(child).isEmpty;
  }

  /** Whether that id is an open or remembered session's, of whichever agent's process. */
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

  /** The session with that id is at an agent, as it says. Another session that had the agent's id is open no longer. */
  open(
    editorId: string,
    place: Omit<AgentSession, 'owner' | 'editorId'>,
    state: 'open' | 'restoring' = 'open',
  ): AgentSession {
    const owner = this.#ensure(editorId);
    const { child, agentId, roots, map, openParams } = place;
    const session: AgentSession = { owner, editorId, agentId, child, roots, map, openParams };
    const older = this.of(child).byAgentId.get(agentId);
    if (older !== undefined && older.owner !== owner) this.close(older);
    if (owner.open !== undefined) this.#unname(owner.open);
    this.#lost.delete(owner);
    owner.enter(session, state);
    this.of(child).byAgentId.set(agentId, session);
    this.records.opened(editorId);
    return session;
  }

  /** The call that was to open it has failed: it is again what it was before. */
  undo(session: AgentSession): void {
    const { owner } = session;
    const isOpen = owner.open === session;
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

  /** No agent has it any more. What is remembered of it stays. */
  close(session: AgentSession): void {
    this.#unname(session);
    if (session.owner.open === session) this.#end(session);
  }

  /** Its agent has ended: no agent has it, and it can be restored if it is known what opened it. */
  lose(session: AgentSession): void {
    const { owner } = session;
    this.close(session);
    const isReplaced = (this.get(owner.editorId) ?? owner) !== owner;
    if (session.openParams === undefined || owner.open !== undefined || isReplaced) return;
    owner.leave(session);
    this.#sessions.set(owner.editorId, owner);
    this.#lost.add(owner);
    const [oldest] = this.#lost;
    if (this.#lost.size > maxLost) this.giveUp(oldest!);
  }

  /** Loses every session of a child. */
  loseAll(child: WorkspaceChild): void {
    for (const session of [...this.of(child).byAgentId.values()]) this.lose(session);
  }

  /** A lost session is not wanted any more. */
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

  /** From now on its id stands for another session: what still happens to this one is of no consequence. */
  drop(session: Session): void {
    if (session.open !== undefined) this.close(session.open);
    this.giveUp(session);
    if (this.#sessions.get(session.editorId) === session) this.#sessions.delete(session.editorId);
  }

  #ensure(editorId: string): Session {
    let session = this.#sessions.get(editorId);
    if (session === undefined) this.#sessions.set(editorId, (session = new Session(editorId, this.room)));
    return session;
  }

  #unname(session: AgentSession): void {
    const { byAgentId } = this.of(session.child);
    if (byAgentId.get(session.agentId) === session) byAgentId.delete(session.agentId);
  }

  #end(session: AgentSession): void {
    session.owner.leave();
    this.#prune(session.owner);
    this.onClose?.(session);
  }

  /** Nothing has to be known of a session that no agent has and for which no call waits. */
  #prune(session: Session): void {
    if (session.state === 'closed' && !session.isHeld && this.#sessions.get(session.editorId) === session)
      this.#sessions.delete(session.editorId);
  }
}
