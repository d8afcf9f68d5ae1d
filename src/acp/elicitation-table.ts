/** The open elicitations. Each agent chooses its own ids; the editor needs ids that are unique among all agents. */
import { newOwnId } from '../rpc/answer';
import { maxOpenRequests } from './sessions/request-table';
import type { WorkspaceChild } from './child/workspace-child';

/** Open elicitations by child, each with the agent's id and the editor's. */
export class ElicitationTable {
  readonly #byChild = new Map<WorkspaceChild, Map<string, string>>();
  readonly #editorIds = new Set<string>();

  /**
   * The editor's id for a new elicitation: the agent's own, unless it is in use. Undefined when the agent
   * has too many open.
   */
  open(child: WorkspaceChild, agentId: string): string | undefined {
    const own = this.#byChild.get(child) ?? new Map<string, string>();
    if (own.size >= maxOpenRequests) return undefined;
    let editorId = agentId;
    while (this.#editorIds.has(editorId)) editorId = JSON.parse(newOwnId()) as string;
    // The agent uses its id again: the earlier elicitation is over.
    this.end(child, agentId);
    this.#byChild.set(child, own.set(agentId, editorId));
    this.#editorIds.add(editorId);
    return editorId;
  }

  /** Ends an elicitation; returns the editor's id of it, if it was open. */
  end(child: WorkspaceChild, agentId: string): string | undefined {
    const own = this.#byChild.get(child);
    const editorId = own?.get(agentId);
    if (own === undefined || editorId === undefined) return undefined;
    own.delete(agentId);
    this.#editorIds.delete(editorId);
    return editorId;
  }

  /** Forgets the elicitations of a child that has ended. */
  forget(child: WorkspaceChild): void {
    for (const editorId of this.#byChild.get(child)?.values() ?? []) this.#editorIds.delete(editorId);
    this.#byChild.delete(child);
  }
}
