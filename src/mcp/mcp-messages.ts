/**
 * `mcp/message`, MCP over ACP: agents send requests to the editor's MCP servers, which can send some back meanwhile.
 */
import { planOf } from '../rpc/json';
import { newOwnId } from '../rpc/answer';
import { CaiError } from '../errors';
import { fieldOf, jsonOf, scanCall, stringOf } from '../rpc/message';
import type { Message } from '../rpc/message';
import { joined, replacing, splice } from '../rpc/splice';
import type { Edit } from '../rpc/splice';
import type { WorkspaceChild } from '../child/workspace-child';
import type { Call } from '../sessions/call';
import type { Children } from '../relay/children';
import type { Core } from '../relay/core';

/** The MCP messages of one proxy. */
export class McpMessages {
  /**
   * Open MCP requests, by server and inner request id as the editor knows them: the agent, and the inner request id that
   * it gave, JSON text.
   */
  readonly #open = new Map<string, { readonly child: WorkspaceChild; readonly agentRequest: string }>();

  /** Nothing is open yet. */
  constructor(
    private readonly core: Core,
    private readonly children: Children,
  ) {}

  /**
   * Passes a message of an agent on with `pass`, which takes edits and a function to call once the request is over.
   * Until then, messages of the server about the request find their way back to the agent.
   */
  fromAgent(
    child: WorkspaceChild,
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
   * Sends a message of the editor to the child whose MCP request it belongs to. A message that names no request, as in
   * earlier drafts, goes to the only child. Fails with `INVALID_PARAMS` if there is no such child.
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
    const edited = scanCall(joined(splice(message.line, edits)), planOf(row.params));
    this.core.toAgent(child, { ...call, message: edited }, { map: child.map });
  }
}

function serverOf(message: Message): string {
  return stringOf(message, 'mcpServer') ?? '';
}

function keyOf(server: string, request: string): string {
  return JSON.stringify([server, request]);
}
