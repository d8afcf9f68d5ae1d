/** The requests of agents that are open, found without a look at each: an agent may have thousands, and say more of them. */
import { OpenRequests } from '../../rpc/open-requests';
import type { Child } from '../child/child';

/** A request of an agent that the editor has to answer. */
export interface AgentRequest {
  readonly child: Child;
  /** The agent's id for it, JSON text. */
  readonly childId: string;
  /** Our id for it towards the editor, JSON text. */
  readonly editorId: string;
  readonly method: string;
  /** Called when it is over, answered or not; `isAccepted`: the user agreed to an elicitation. */
  readonly onOver?: ((isAccepted: boolean) => void) | undefined;
}

/** The requests of one agent: how many there are, and the last one of each of its ids. */
interface OfChild {
  count: number;
  readonly named: Map<string, AgentRequest>;
}

export class AgentRequestTable {
  readonly #open = new OpenRequests<AgentRequest>();
  readonly #ofChildren = new Map<Child, OfChild>();

  /** The oldest first. */
  get all(): AgentRequest[] {
    return this.#open.all;
  }

  countOf(child: Child): number {
    return this.#ofChildren.get(child)?.count ?? 0;
  }

  add(request: AgentRequest): void {
    const { child, childId, editorId } = request;
    const ofChild = this.#ofChildren.get(child) ?? { count: 0, named: new Map<string, AgentRequest>() };
    this.#open.add(editorId, request);
    this.#ofChildren.set(child, ofChild);
    ofChild.count++;
    ofChild.named.set(childId, request);
  }

  /** By the editor's id, also where it is written otherwise. */
  find(editorId: string): AgentRequest | undefined {
    return this.#open.find(editorId);
  }

  /** As `find`; it is open no more. */
  take(editorId: string): AgentRequest | undefined {
    const request = this.#open.take(editorId);
    const ofChild = request && this.#ofChildren.get(request.child);
    if (ofChild === undefined) return request;
    if (ofChild.named.get(request!.childId) === request) ofChild.named.delete(request!.childId);
    if (--ofChild.count === 0) this.#ofChildren.delete(request!.child);
    return request;
  }

  /** By the agent's own id; of several the last one. */
  named(child: Child, childId: string): AgentRequest | undefined {
    return this.#ofChildren.get(child)?.named.get(childId);
  }
}
