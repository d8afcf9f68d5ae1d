/** `mcp/message`, MCP over ACP: agents ask the editor's MCP servers, and these speak to whoever has asked. */
import { CaiError } from '../errors';
import { fieldOf, jsonOf, scanCall, stringOf } from '../rpc/message';
import type { Message } from '../rpc/message';
import { joined, replacing, splice } from '../rpc/splice';
import type { Edit } from '../rpc/splice';
import type { Field } from '../rpc/json/walk';
import { newOwnId } from '../child/proxy-request-id';
import type { WorkspaceChild } from '../child/workspace-child';
import type { Call } from '../relay/call';
import type { Children } from '../relay/children';
import type { Core } from '../relay/core';

/** An MCP request of an agent that the editor has open. */
interface McpOwner {
  readonly child: WorkspaceChild;
  /** The inner request id that the agent gave, JSON text. */
  readonly agentRequest: string;
}

/** The MCP messages of one proxy. */
export class McpMessages {
  /** Open MCP requests, by server and inner request id as the editor knows them. */
  readonly #open = new Map<string, McpOwner>();

  /** Nothing is open yet. */
  constructor(
    private readonly core: Core,
    private readonly children: Children,
  ) {}

  /**
   * One of an agent: `pass` passes it on to the editor with edits, and calls back when it is over. What the server
   * sends back finds its way by this.
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
    this.#open.set(keyOf(server, editorRequest), { child, agentRequest });
    const edits = [replacing(request, editorRequest)];
    pass(editorRequest === agentRequest ? [] : edits, () => {
      this.#open.delete(keyOf(server, editorRequest));
    });
  }

  /**
   * One of the editor, which may be a request: to the child whose MCP request it belongs to. One that names none, as in
   * earlier drafts, is for the only child. Fails with `INVALID_PARAMS` for one that is nobody's.
   */
  fromEditor(call: Call): void {
    const { message, row } = call;
    const request = fieldOf(message, 'mcpRequest');
    const owner = request === undefined ? undefined : this.#ownerOf(message, request);
    const [only, another] = request === undefined ? this.children.usable() : [];
    const child = owner?.child ?? (another === undefined ? only : undefined);
    if (child === undefined)
      throw new CaiError('INVALID_PARAMS', `${message.method}: it belongs to no MCP request of an agent`);
    const edits = owner === undefined ? [] : [replacing(request!, owner.agentRequest)];
    const edited = scanCall(joined(splice(message.line, edits)), this.core.planOf(row.params));
    this.core.toAgent(child, { ...call, message: edited }, { map: child.map });
  }

  #ownerOf(message: Message, request: Field): McpOwner | undefined {
    return this.#open.get(keyOf(serverOf(message), jsonOf(message, request)));
  }
}

function serverOf(message: Message): string {
  return stringOf(message, 'mcpServer') ?? '';
}

function keyOf(server: string, request: string): string {
  return JSON.stringify([server, request]);
}
