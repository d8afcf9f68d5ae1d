/** Elicitations: agents' questions to the user, with a form or a web page. */
import { rpcCode } from '../errors';
import { newOwnId, resultLine, type RpcError } from '../rpc/answer';
import { fieldOf, jsonOf, stringOf, textOf, type Message } from '../rpc/message';
import { replacing, type Edit } from '../rpc/splice';
import { offers } from '../rpc/protocol/capabilities';
import { unsafeUrl } from '../rpc/protocol/refusals';
import type { Child } from './child/child';
import type { AgentCall } from './relay/agent-call';
import type { Core } from './relay/core';
import { maxOpenRequests } from './sessions/request-table';

/** The error for an agent that has too many requests open. */
export const tooMany: RpcError = {
  code: rpcCode.internalError,
  message: 'too many requests of this agent are open',
};

export class Elicitations {
  readonly #table = new ElicitationTable();

  constructor(private readonly core: Core) {}

  /**
   * `elicitation/create`: refused in a mode that the editor does not offer. `pass` passes it on with these edits, which
   * make its ids unique for the editor, and calls back when it is over.
   */
  serve(
    { child, message }: AgentCall,
    pass: (edits: readonly Edit[], onOver?: (isAccepted: boolean) => void) => void,
  ): void {
    const fault = this.#faultOf(message);
    if (fault !== undefined) {
      const text = `elicitation/create: ${fault}`;
      this.core.refuse(child, message, { code: rpcCode.invalidParams, message: text });
      return;
    }
    const edits: Edit[] = [];
    const about = fieldOf(message, 'requestId');
    if (about !== undefined) {
      const asked = child.requests.find(jsonOf(message, about))?.editorId;
      if (asked === undefined) {
        // The agent asks about a request of ours, such as a repeated sign-in, which the editor does not know.
        child.answer(resultLine(message.id!, '{"action":"cancel"}'));
        return;
      }
      edits.push(replacing(about, asked));
    }
    const id = fieldOf(message, 'elicitationId');
    if (id?.isString !== true) {
      pass(edits);
      return;
    }
    const agentId = textOf(message, id);
    const editorId = this.#table.open(child, agentId);
    if (editorId === undefined) {
      this.core.refuse(child, message, tooMany);
      return;
    }
    edits.push(replacing(id, JSON.stringify(editorId)));
    pass(edits, (isAccepted) => {
      if (!isAccepted) this.#table.end(child, agentId, editorId);
    });
  }

  /** `elicitation/complete`: passed with the editor's id of the elicitation. */
  complete({ child, message }: AgentCall): void {
    const id = fieldOf(message, 'elicitationId');
    const editorId = id?.isString === true ? this.#table.end(child, textOf(message, id)) : undefined;
    if (id === undefined || editorId === undefined) return;
    const edit = replacing(id, JSON.stringify(editorId));
    this.core.toEditor(child, message, { map: child.map }, [edit]);
  }

  forget(child: Child): void {
    this.#table.forget(child);
  }

  /** Why an `elicitation/create` is not passed on; undefined if it may be. */
  #faultOf(message: Message): string | undefined {
    const name = stringOf(message, 'elicitationMode') ?? '';
    if (!offers(this.core.editorCapabilities, `elicitation.${name}`))
      return `the client does not offer the mode "${name}"`;
    return unsafeUrl(message);
  }
}

/**
 * The open elicitations by child, each with the agent's id and the editor's. Each agent chooses its own ids; the editor
 * needs ids that are unique among all agents.
 */
export class ElicitationTable {
  readonly #byChild = new Map<Child, Map<string, string>>();
  readonly #editorIds = new Set<string>();

  /**
   * The editor's id for a new elicitation: the agent's own, unless it is in use. Undefined when the agent
   * has too many open.
   */
  open(child: Child, agentId: string): string | undefined {
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

  /** Ends an elicitation; returns the editor's id of it, if it was open. `only`: if that is the editor's id. */
  end(child: Child, agentId: string, only?: string): string | undefined {
    const own = this.#byChild.get(child);
    const editorId = own?.get(agentId);
    if (own === undefined || editorId === undefined || editorId !== (only ?? editorId)) return undefined;
    own.delete(agentId);
    this.#editorIds.delete(editorId);
    return editorId;
  }

  forget(child: Child): void {
    for (const editorId of this.#byChild.get(child)?.values() ?? []) this.#editorIds.delete(editorId);
    this.#byChild.delete(child);
  }
}
