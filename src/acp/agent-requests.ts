/**
 * What an agent asks of the editor and does not simply get: files inside the session's roots, terminals, questions
 * to the user, the editor's MCP servers, and news about signing in.
 */
import { CaiError, rpcCode } from '../errors';
import { resultLine, rpcErrorOf } from '../rpc/answer';
import type { RpcError } from '../rpc/answer';
import { bodyTextOf, fieldOf, textOf } from '../rpc/scan';
import type { Message } from '../rpc/scan';
import { splice } from '../rpc/splice';
import type { Edit } from '../rpc/splice';
import type { Session, WorkspaceChild } from '../session/workspace-child';
import { newOwnId } from '../session/own-id';
import { confine } from '../workspace/confine';
import type { Children } from './children';
import type { Core } from './core';
import type { AgentRoute, Method } from './methods';
import { answerForEditor } from './shutdown';
import { ElicitationTable } from './elicitation-table';
import { observeUpdate } from './observe-update';
import { methodNotFound, offers } from './refusals';
import type { Terminals } from './terminals';
import { within } from './within';

/** A message of an agent that is being served. */
export interface AgentCall {
  /** Who sent it. */
  readonly child: WorkspaceChild;
  /** The message. */
  readonly message: Message;
  /** The row of its method. */
  readonly row: Method<AgentRoute>;
  /** The session that it names, if it is open. */
  readonly session: Session | undefined;
}

/** How long the look-up of a path may take, in milliseconds. */
const lookUpMs = 5_000;

/** What an agent is told that asks faster than it is answered. */
const tooMany: RpcError = {
  code: rpcCode.internalError,
  message: 'too many requests of this agent are open',
};

/** An MCP request of an agent that the editor has open. */
interface McpOwner {
  readonly child: WorkspaceChild;
  /** The inner request id that the agent gave, JSON text. */
  readonly agentRequest: string;
}

/** Serves what agents ask. */
export class AgentRequests {
  readonly #elicitations = new ElicitationTable();
  /** Open MCP requests, by server and inner request id as the editor knows them. */
  readonly #mcp = new Map<string, McpOwner>();
  /** The params sent last, by method: some agents use both. */
  readonly #lastStatus = new Map<string, string>();

  /** `allowsFiles`: `[acp] fs` is not off. */
  constructor(
    private readonly core: Core,
    private readonly children: Children,
    private readonly terminals: Terminals,
    private readonly allowsFiles: boolean,
  ) {}

  /** Sends a call where its method's row says. */
  serve(call: AgentCall): void {
    switch (call.row.route) {
      case 'file':
        void this.#file(call);
        break;
      case 'terminal':
        this.terminals.serve(call, (edits) => this.#pass(call, edits));
        break;
      case 'elicitation':
        this.#elicitation(call);
        break;
      case 'elicitationComplete':
        this.#elicitationComplete(call);
        break;
      case 'mcp':
        this.#mcpMessage(call);
        break;
      case 'status':
        this.#status(call);
        break;
      case 'cancel':
        this.#cancel(call);
        break;
      case 'refuse':
        this.core.refuse(call.child, call.message, methodNotFound(call.message.method));
        break;
      case 'editor':
        this.#pass(call);
        break;
    }
  }

  /** Passes a message on to the editor; a request under an id of ours, which it returns. */
  #pass(
    call: AgentCall,
    edits: readonly Edit[] = [],
    onOver?: (isAccepted: boolean) => void,
  ): string | undefined {
    const { child, message, session } = call;
    const context = { map: session?.map ?? child.map, session };
    if (message.kind === 'notification') {
      const isUpdate = session !== undefined && message.method === 'session/update';
      if (isUpdate && !observeUpdate(this.core, session, message)) return undefined;
      this.core.toEditor(child, message, context, edits);
      return undefined;
    }
    if (this.core.isEditorGone) {
      answerForEditor(child, message.id!, message.method);
      return undefined;
    }
    const request = this.core.requests.pass({
      child,
      childId: message.id!,
      method: message.method,
      onOver,
    });
    if (request === undefined) {
      this.core.refuse(child, message, tooMany);
      onOver?.(false);
      return undefined;
    }
    const id = { start: message.idStart, end: message.idEnd, text: request.editorId };
    this.core.toEditor(child, message, context, [id, ...edits]);
    return request.editorId;
  }

  /**
   * `fs/*`: only what the editor offers, only inside the session's roots, by real path. The child is not
   * read on while the path is looked up, so that its messages keep their order.
   */
  async #file(call: AgentCall): Promise<void> {
    const { child, message, row, session } = call;
    const path = fieldOf(message, 'path');
    if (!this.allowsFiles || !offers(this.core.editorCapabilities, row.capability!)) {
      this.core.refuse(child, message, methodNotFound(message.method));
      return;
    }
    if (session === undefined || path?.isString !== true) {
      const text = `${message.method}: an open session and a path are needed`;
      this.core.refuse(child, message, { code: rpcCode.invalidParams, message: text });
      return;
    }
    child.pause();
    try {
      const asked = session.map.toEditor(textOf(message, path));
      const real = await within(lookUpMs, confine(asked, session.roots));
      if (real === undefined)
        throw new CaiError('OUTSIDE', `the path could not be looked up in ${lookUpMs / 1_000} s`);
      const edit = { start: path.start, end: path.end, text: JSON.stringify(real) };
      // Meanwhile the session may have been closed, or opened anew with other roots.
      const now = child.sessions.get(session.agentId);
      if (now === session) this.#pass({ ...call, message: withoutField(message, path) }, [edit]);
      else if (now !== undefined) await this.#file({ ...call, session: now });
      else this.core.refuse(child, message, { code: rpcCode.resourceNotFound, message: 'Session not found' });
    } catch (error) {
      this.core.log.warn({ method: message.method, root: child.root }, 'refused to an agent');
      this.core.refuse(child, message, rpcErrorOf(error));
    } finally {
      child.resume();
    }
  }

  /** `elicitation/create`: in a mode that the editor offers, under ids that are unique for it. */
  #elicitation(call: AgentCall): void {
    const { child, message } = call;
    const mode = fieldOf(message, 'elicitationMode');
    const name = mode?.isString === true ? textOf(message, mode) : '';
    if (!offers(this.core.editorCapabilities, `elicitation.${name}`)) {
      const text = `elicitation/create: the client does not offer the mode "${name}"`;
      this.core.refuse(child, message, { code: rpcCode.invalidParams, message: text });
      return;
    }
    const url = fieldOf(message, 'url');
    if (url !== undefined && !(url.isString && /^https?:/i.test(textOf(message, url)))) {
      // The editor opens it on the host: with another scheme that could start a program.
      const text = 'elicitation/create: only http and https addresses are passed on';
      this.core.refuse(child, message, { code: rpcCode.invalidParams, message: text });
      return;
    }
    const edits: Edit[] = [];
    const about = fieldOf(message, 'requestId');
    if (about !== undefined) {
      const asked = child.open.find(message.line.toString('utf8', about.start, about.end))?.editorId;
      if (asked === undefined) {
        // It is about a request that the editor does not know, such as a repeated sign-in.
        child.answer(resultLine(message.id!, '{"action":"cancel"}'));
        return;
      }
      edits.push({ start: about.start, end: about.end, text: asked });
    }
    const id = fieldOf(message, 'elicitationId');
    if (id?.isString !== true) {
      this.#pass(call, edits);
      return;
    }
    const agentId = textOf(message, id);
    const editorId = this.#elicitations.open(child, agentId);
    if (editorId === undefined) {
      this.core.refuse(child, message, tooMany);
      return;
    }
    edits.push({ start: id.start, end: id.end, text: JSON.stringify(editorId) });
    this.#pass(call, edits, (isAccepted) => {
      if (!isAccepted) this.#elicitations.end(child, agentId);
    });
  }

  /** `elicitation/complete`: under the id that the elicitation has at the editor. */
  #elicitationComplete(call: AgentCall): void {
    const { child, message } = call;
    const id = fieldOf(message, 'elicitationId');
    const editorId = id?.isString === true ? this.#elicitations.end(child, textOf(message, id)) : undefined;
    if (id === undefined || editorId === undefined) return;
    const edit = { start: id.start, end: id.end, text: JSON.stringify(editorId) };
    this.core.toEditor(child, message, { map: child.map }, [edit]);
  }

  /** `mcp/message` to a server of the editor; what the server sends back finds its way by this. */
  #mcpMessage(call: AgentCall): void {
    const { child, message } = call;
    const request = fieldOf(message, 'mcpRequest');
    const server = mcpServerOf(message);
    if (request === undefined || message.kind === 'notification') {
      this.#pass(call);
      return;
    }
    const agentRequest = message.line.toString('utf8', request.start, request.end);
    let editorRequest = agentRequest;
    while (this.#mcp.has(keyOf(server, editorRequest))) editorRequest = newOwnId();
    this.#mcp.set(keyOf(server, editorRequest), { child, agentRequest });
    const edits = [{ start: request.start, end: request.end, text: editorRequest }];
    this.#pass(call, editorRequest === agentRequest ? [] : edits, () => {
      this.#mcp.delete(keyOf(server, editorRequest));
    });
  }

  /** `mcp/message` of the editor: to the child whose request it belongs to; nobody's is dropped. */
  mcpFromEditor(message: Message): void {
    const request = fieldOf(message, 'mcpRequest');
    if (request === undefined) return;
    const { start, end } = request;
    const owner = this.#mcp.get(keyOf(mcpServerOf(message), message.line.toString('utf8', start, end)));
    owner?.child.notify(splice(message.line, [{ start, end, text: owner.agentRequest }]), false);
  }

  /** `auth/status_update`: all children say the same, so the first one speaks, and does not repeat itself. */
  #status(call: AgentCall): void {
    const { child, message } = call;
    const status = bodyTextOf(message) ?? '';
    if (child !== this.children.usable()[0] || status === this.#lastStatus.get(message.method)) return;
    this.#lastStatus.set(message.method, status);
    this.#pass(call);
  }

  /** `$/cancel_request`: of a request that the editor has open, under its id there. */
  #cancel(call: AgentCall): void {
    const { child, message } = call;
    const id = fieldOf(message, 'requestId');
    if (id === undefined) return;
    const text = message.line.toString('utf8', id.start, id.end);
    const request = this.core.requests.openOfAgents(child).find((open) => open.childId === text);
    if (request === undefined) return;
    child.deliver(splice(message.line, [{ start: id.start, end: id.end, text: request.editorId }]));
  }

  /** The child is gone, and its elicitations and terminals with it. */
  forget(child: WorkspaceChild): void {
    this.#elicitations.forget(child);
    this.terminals.forget(child);
  }
}

function mcpServerOf(message: Message): string {
  const server = fieldOf(message, 'mcpServer');
  return server?.isString === true ? textOf(message, server) : '';
}

function keyOf(server: string, request: string): string {
  return JSON.stringify([server, request]);
}

/** The message without a field that is rewritten by hand. */
function withoutField(message: Message, field: unknown): Message {
  return { ...message, fields: message.fields.filter((each) => each !== field) };
}
