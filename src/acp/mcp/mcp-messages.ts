/** `mcp/message`, MCP over ACP: agents send requests to the editor's servers, which can send some back meanwhile. */
import { wantedIn } from '../../rpc/json';
import { newOwnId } from '../../rpc/answer';
import { CaiError } from '../../errors';
import { fieldOf, jsonOf, scanCall, stringOf, type Message } from '../../rpc/message';
import { joined, replacing, splice, type Edit } from '../../rpc/splice';
import type { Child } from '../child/child';
import type { Call } from '../sessions/editor-call';
import type { Children } from '../child/children';
import type { Core } from '../relay/core';

export class McpMessages {
  /** Open MCP requests, by server and inner id as the editor knows them: the agent, and its inner id, JSON text. */
  readonly #open = new Map<string, { readonly child: Child; readonly agentRequest: string }>();

  constructor(
    private readonly core: Core,
    private readonly children: Children,
  ) {}

  /**
   * Passes a message of an agent on; `pass` takes edits, and what to call once the request is over: until then,
   * messages of the server about it find their way back.
   */
  fromAgent(
    child: Child,
    message: Message,
    pass: (edits?: readonly Edit[], onOver?: () => void) => void,
  ): void {
    const request = fieldOf(message, 'mcpRequest');
    const server = serverOf(message);
    if (request === undefined || message.kind === 'notification') {
      pass();
      return;
    }
    const agentRequest = jsonOf(message, request);
    let editorRequest = agentRequest;
    while (this.#open.has(keyOf(server, editorRequest))) editorRequest = newOwnId();
    const key = keyOf(server, editorRequest);
    this.#open.set(key, { child, agentRequest });
    const edits = editorRequest === agentRequest ? [] : [replacing(request, editorRequest)];
    pass(edits, () => void this.#open.delete(key));
  }

  /**
   * Sends a message to the child whose MCP request it belongs to; without a request, as in earlier drafts, to the only
   * one. Fails with `INVALID_PARAMS` if there is no such child.
   */
  fromEditor(call: Call): void {
    const { message, row } = call;
    const request = fieldOf(message, 'mcpRequest');
    const owner = request && this.#open.get(keyOf(serverOf(message), jsonOf(message, request)));
    const [only, another] = request === undefined ? this.children.usable() : [];
    const child = owner?.child ?? (another === undefined ? only : undefined);
    if (child === undefined)
      throw new CaiError('INVALID_PARAMS', `${message.method}: it belongs to no MCP request of an agent`);
    const edits = owner === undefined ? [] : [replacing(request!, owner.agentRequest)];
    const edited = scanCall(joined(splice(message.line, edits)), wantedIn(row.params));
    this.core.toAgent(child, { ...call, message: edited }, { map: child.map });
  }
}

function serverOf(message: Message): string {
  return stringOf(message, 'mcpServer') ?? '';
}

function keyOf(server: string, request: string): string {
  return JSON.stringify([server, request]);
}
