/** The sessions of one process, among the sessions of all connections of its visitor. */
import type { Keeper } from '../outbox';
import { LiveSession } from './live-session';
import type { Home } from './participants';
import type { SessionClaims } from './session-claims';

/** One process's. */
export class OwnSessions {
  /** What gives back the claims of those that are here, by id. */
  readonly #claims = new Map<string, () => void>();

  /** `sessions`: of all connections, by id; `keeper`: for the histories of these sessions. */
  constructor(
    private readonly sessions: Map<string, LiveSession>,
    private readonly claims: Pick<SessionClaims, 'take'>,
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

  /** False: another server has it open. */
  claim(id: string): boolean {
    const release = this.#claims.get(id) ?? this.claims.take(id);
    if (release !== undefined) this.#claims.set(id, release);
    return release !== undefined;
  }

  /** One more, unless a process has it: it is not open yet. */
  add(id: string): LiveSession | undefined {
    if (this.sessions.has(id)) return this.get(id);
    this.claim(id);
    const session = new LiveSession(id, this.home, this.keeper);
    this.sessions.set(id, session);
    return session;
  }

  /** The process has it no more. */
  forget(session: LiveSession): void {
    this.sessions.delete(session.id);
    this.#claims.get(session.id)?.();
    this.#claims.delete(session.id);
    session.end();
  }
}
