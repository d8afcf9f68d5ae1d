/** The sessions of one process, among those of all connections of its visitor. */
import type { Keeper } from '../outbox';
import { LiveSession, type Home } from './live-session';

/** One process's. */
export class OwnSessions {
  /** `sessions`: of all connections, by id; `keeper`: for the histories of its own. */
  constructor(
    private readonly sessions: Map<string, LiveSession>,
    private readonly home: Home,
    private readonly keeper: Keeper,
  ) {}

  /** Also those that are not open yet. */
  get all(): readonly LiveSession[] {
    return [...this.sessions.values()].filter(({ home }) => home === this.home);
  }

  /** One of them. */
  get(id: string): LiveSession | undefined {
    const known = this.sessions.get(id);
    return known?.home === this.home ? known : undefined;
  }

  /** One more, unless a process has it: it is not open yet. */
  add(id: string): LiveSession | undefined {
    if (this.sessions.has(id)) return this.get(id);
    const session = new LiveSession(id, this.home, this.keeper);
    this.sessions.set(id, session);
    return session;
  }

  /** The process has it no more. */
  forget(session: LiveSession): void {
    this.sessions.delete(session.id);
    session.end();
  }
}
