/**
 * What an agent asks of the editor and does not simply get: files inside the session's roots, terminals, questions
 * to the user, the editor's MCP servers, and news about signing in.
 */
import { rpcCode } from '../errors';
import { resultLine } from '../rpc/answer';
import type { RpcError } from '../rpc/answer';
import { bodyTextOf, fieldOf, jsonOf, stringOf, textOf } from '../rpc/message';
import type { Message } from '../rpc/message';
import { replacing, splice } from '../rpc/splice';
import type { Edit } from '../rpc/splice';
import type { WorkspaceChild } from '../child/workspace-child';
import { agentRow, isAnnounced } from '../protocol/acting-methods';
import type { AgentSession } from '../sessions/session';
import type { AgentCall } from '../relay/call';
import type { Call } from '../sessions/call';
import type { Children } from '../relay/children';
import type { Core } from '../relay/core';
import { actingAgentMethod, unknownAgentMethod } from '../protocol/methods';
import type { AgentRoute, Method } from '../protocol/methods';
import { sessionIdOf } from '../sessions/session-ids';
import { answerForEditor } from './shutdown';
import { ElicitationTable } from './elicitation-table';
import { FileRequests } from './file-requests';
import { McpMessages } from '../mcp/mcp-messages';
import { isMessageChunk, updateKindOf } from '../sessions/session-update';
import { methodNotFound, offers } from '../protocol/refusals';
import type { Terminals } from '../terminals/terminals';

/** Routes of notifications. Nobody has them as requests: such a one is answered so, and has no effect. */
const notified: ReadonlySet<AgentRoute> = new Set(['elicitationComplete', 'status', 'cancel']);

/** The variants that tell how things are now. All others tell what has happened. */
const ofPresent = new Set([
  'current_mode_update',
  'config_option_update',
  'available_commands_update',
  'usage_update',
  'session_info_update',
]);

/** What an agent is told that asks faster than it is answered. */
const tooMany: RpcError = {
  code: rpcCode.internalError,
  message: 'too many requests of this agent are open',
};

/** Serves what agents ask. */
export class AgentRequests {
  readonly #elicitations = new ElicitationTable();
  readonly #files: FileRequests;
  readonly #mcp: McpMessages;
  /** The params sent last, by method: some agents use both. */
  readonly #lastStatus = new Map<string, string>();

  /** `maxFileBytes`: of a file, what fits into a line of the editor. */
  constructor(
    private readonly core: Core,
    private readonly children: Children,
    private readonly terminals: Terminals,
    maxFileBytes: number,
  ) {
    this.#files = new FileRequests(core, maxFileBytes, (...passed) => this.#pass(...passed));
    this.#mcp = new McpMessages(core, children);
  }

  /** Serves a request or notification of an agent. */
  serve(child: WorkspaceChild, message: Message): void {
    const row = agentRow(message.method);
    // A question about signing in again is answered below; nothing else can be asked yet.
    if (child.state === 'starting' && message.kind === 'request' && row.route !== 'elicitation') {
      const text = 'Invalid request: answer initialize first';
      this.core.refuse(child, message, { code: rpcCode.invalidRequest, message: text });
      return;
    }
    const session = this.core.ids.sessionOf(child, message);
    if (session === undefined && fieldOf(message, 'session') !== undefined && !this.#isOwn(row, message)) {
      // Of a session that was closed, or that was never opened.
      this.core.log.debug({ method: message.method }, 'from an agent, for no open session');
      this.core.refuse(child, message, { code: rpcCode.resourceNotFound, message: 'Session not found' });
      return;
    }
    this.#serve({ child, message, row, session });
  }

  /** Passes the editor's answer to a request on to the agent that has asked. */
  answer(message: Message): void {
    this.terminals.hear(message);
    const request = this.core.requests.take(message.id!);
    if (request === undefined) return;
    request.onOver?.(stringOf(message, 'elicitationAction') === 'accept');
    const edit = { start: message.idStart, end: message.idEnd, text: request.childId };
    request.child.answer(splice(message.line, [edit]));
  }

  /** A method of an agent's own may name a session of its own, but not one that we gave to somebody. */
  #isOwn(row: Method<AgentRoute>, message: Message): boolean {
    const named = sessionIdOf(message);
    const isUnknown = row === unknownAgentMethod || row === actingAgentMethod;
    return isUnknown && (named === undefined || !this.core.sessions.isGiven(named));
  }

  #serve(call: AgentCall): void {
    const { message, row } = call;
    switch (message.kind === 'request' && notified.has(row.route) ? 'refuse' : row.route) {
      case 'file':
        this.#files.serve(call);
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
        this.#mcp.fromAgent(call.child, message, (edits, onOver) => this.#pass(call, edits, onOver));
        break;
      case 'status':
        this.#status(call);
        break;
      case 'cancel':
        this.#cancel(call);
        break;
      case 'announced':
        this.#announced(call);
        break;
      case 'refuse':
        this.core.refuse(call.child, message, methodNotFound(message.method));
        break;
      case 'editor':
        this.#pass(call);
        break;
    }
  }

  /** What acts on files or commands and has no row: as it is, as only the editor knows what is in it. */
  #announced(call: AgentCall): void {
    const { child, message } = call;
    if (isAnnounced(message.method, this.core.editorCapabilities)) {
      this.#pass(call);
      return;
    }
    const { method } = message;
    this.core.log.info({ method, root: child.root }, 'refused to an agent: the editor has not announced it');
    this.core.refuse(child, message, methodNotFound(method));
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
      if (isUpdate && !this.#observe(session, message)) return undefined;
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
   * Tells the observers of an update of a session. False: it is not for the editor, nor for them, since it is
   * history, which an agent tells when it restores a session of ours.
   */
  #observe(session: AgentSession, update: Message): boolean {
    const kind = updateKindOf(update);
    if (session.owner.state === 'restoring') {
      session.owner.toldPast();
      if (!ofPresent.has(kind)) return false;
    }
    if (!isMessageChunk(kind))
      for (const observer of this.core.observers) observer.onUpdate?.(session, kind, update);
    return true;
  }

  /** `elicitation/create`: in a mode that the editor offers, under ids that are unique for it. */
  #elicitation(call: AgentCall): void {
    const { child, message } = call;
    const fault = this.#elicitationFault(message);
    if (fault !== undefined) {
      const text = `elicitation/create: ${fault}`;
      this.core.refuse(child, message, { code: rpcCode.invalidParams, message: text });
      return;
    }
    const edits: Edit[] = [];
    const about = fieldOf(message, 'requestId');
    if (about !== undefined) {
      const asked = child.open.find(jsonOf(message, about))?.editorId;
      if (asked === undefined) {
        // It is about a request that the editor does not know, such as a repeated sign-in.
        child.answer(resultLine(message.id!, '{"action":"cancel"}'));
        return;
      }
      edits.push(replacing(about, asked));
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
    edits.push(replacing(id, JSON.stringify(editorId)));
    this.#pass(call, edits, (isAccepted) => {
      if (!isAccepted) this.#elicitations.end(child, agentId);
    });
  }

  /** Why an `elicitation/create` is not passed on; undefined if it may be. */
  #elicitationFault(message: Message): string | undefined {
    const name = stringOf(message, 'elicitationMode') ?? '';
    if (!offers(this.core.editorCapabilities, `elicitation.${name}`))
      return `the client does not offer the mode "${name}"`;
    // The editor opens it on the host: with another scheme that could start a program.
    const isSafe = fieldOf(message, 'url') === undefined || /^https?:/i.test(stringOf(message, 'url') ?? '');
    return isSafe ? undefined : 'only http and https addresses are passed on';
  }

  /** `elicitation/complete`: under the id that the elicitation has at the editor. */
  #elicitationComplete(call: AgentCall): void {
    const { child, message } = call;
    const id = fieldOf(message, 'elicitationId');
    const editorId = id?.isString === true ? this.#elicitations.end(child, textOf(message, id)) : undefined;
    if (id === undefined || editorId === undefined) return;
    const edit = replacing(id, JSON.stringify(editorId));
    this.core.toEditor(child, message, { map: child.map }, [edit]);
  }

  /** As of `McpMessages`. */
  mcpFromEditor(call: Call): void {
    this.#mcp.fromEditor(call);
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
    const text = jsonOf(message, id);
    const request = this.core.requests.openOfAgents(child).find((open) => open.childId === text);
    if (request === undefined) return;
    child.deliver(splice(message.line, [replacing(id, request.editorId)]));
  }

  /** The child is gone, and its elicitations and terminals with it. */
  forget(child: WorkspaceChild): void {
    this.#elicitations.forget(child);
    this.terminals.forget(child);
  }
}
