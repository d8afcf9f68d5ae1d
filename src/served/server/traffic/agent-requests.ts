/** The requests of one process that its client has open. Ids are the agent's, JSON text. */
import { OpenRequests } from '../../../rpc/open-requests';
import { KnownIds } from './known-ids';
import type { LiveSession } from './live-session';

/** A request that is about a session, or about none that is known. */
interface AgentRequest {
  readonly id: string;
  readonly session: LiveSession | undefined;
}

/** One client's. */
export class AgentRequests {
  readonly #open = new OpenRequests<AgentRequest>();
  /** The client may still answer these, and nobody waits for it. */
  readonly #answeredByGuest = new KnownIds();

  /** The agent has asked; guests of the session may answer, too. */
  add(id: string, session: LiveSession | undefined): void {
    this.#open.add(id, { id, session });
  }

  /** The client has answered. False: a guest was first. */
  answered(id: string): boolean {
    if (this.#answeredByGuest.delete(id)) return false;
    this.withdrawn(id);
    return true;
  }

  answeredByGuest(id: string): void {
    this.#open.take(id);
    this.#answeredByGuest.add(id);
  }

  /** The agent waits no more: guests that were asked are told. */
  withdrawn(id: string): void {
    const request = this.#open.take(id);
    request?.session?.settle(request.id);
  }

  /** Takes those that no guest was asked; returns their ids. */
  takeUnshared(): readonly string[] {
    const unshared = this.#open.all.filter(({ id, session }) => session?.isAsking(id) !== true);
    for (const { id } of unshared) this.#open.take(id);
    return unshared.map(({ id }) => id);
  }
}
