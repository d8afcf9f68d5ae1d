/**
 * Requests and notifications of agents. Most pass to the editor as they are. Some are checked, changed or refused
 * first: files, terminals, questions to the user, MCP messages, news about signing in, and methods that would act on
 * the host.
 */
import { rpcCode } from '../errors';
import { fieldOf, jsonOf, stringOf, type Message } from '../rpc/message';
import { replacing, splice, type Edit } from '../rpc/splice';
import type { Child } from './child/child';
import { agentRow, isAnnounced } from '../rpc/protocol/method-rows';
import type { AgentSession } from './sessions/session';
import type { AgentCall } from './relay/agent-call';
import type { CursorRequests } from './cursor/requests';
import type { Children } from './child/children';
import type { Core } from './relay/core';
import { actingAgentMethod, unknownAgentMethod, type AgentRoute, type Method } from '../rpc/protocol/methods';
import { sessionIdOf } from './sessions/session-ids';
import { answerForEditor } from './shutdown';
import { Elicitations, tooMany } from './elicitations';
import type { FileRequests } from './file-requests';
import type { McpMessages } from './mcp/mcp-messages';
import { isMessageChunk, updateKindOf } from './sessions/session-update';
import { StatusUpdates } from './sign-in/status-updates';
import { offers } from '../rpc/protocol/capabilities';
import { methodNotFound } from '../rpc/protocol/refusals';
import type { Terminals } from './terminals';

/** Updates that tell the current state of a session. All other updates tell what has happened in it. */
const ofPresent = new Set([
  'current_mode_update',
  'config_option_update',
  'available_commands_update',
  'usage_update',
  'session_info_update',
]);

/** Who serves the methods of a kind. */
export interface AgentServices {
  readonly mcp: McpMessages;
  readonly terminals: Terminals;
  readonly cursor: CursorRequests;
  /** `undefined`: agents get no files through the editor. */
  readonly files: FileRequests | undefined;
}

export class AgentRequests {
  readonly #elicitations: Elicitations;
  readonly #statusUpdates = new StatusUpdates();

  constructor(
    private readonly core: Core,
    private readonly children: Children,
    private readonly services: AgentServices,
  ) {
    this.#elicitations = new Elicitations(core);
  }

  serve(child: Child, message: Message): void {
    const row = agentRow(message.method);
    // While a sign-in is repeated, an agent may ask the user about it. Nothing else can be asked before initialize.
    if (child.state === 'starting' && message.kind === 'request' && row.route !== 'elicitation') {
      const text = 'Invalid request: answer initialize first';
      this.core.refuse(child, message, { code: rpcCode.invalidRequest, message: text });
      return;
    }
    const session = this.core.ids.sessionOf(child, message);
    if (session === undefined && fieldOf(message, 'session') !== undefined && !this.#isOwn(row, message)) {
      // The session was closed, or was never opened.
      this.core.log.debug({ method: message.method }, 'from an agent, for no open session');
      this.core.refuse(child, message, { code: rpcCode.resourceNotFound, message: 'Session not found' });
      return;
    }
    const isMisused = message.kind === 'request' && row.isNotification === true;
    const isOffered = row.capability === undefined || offers(this.core.editorCapabilities, row.capability);
    if (isMisused || !isOffered) this.core.refuse(child, message, methodNotFound(message.method));
    else this.#serve({ child, message, row, session });
  }

  /** Passes the editor's answer to a request on to the agent that has asked, or to whoever of us has. */
  answer(message: Message): void {
    if (this.core.requests.settleOwn(message.id!, message)) return;
    this.services.terminals.hear(message);
    const request = this.core.requests.ofAgents.take(message.id!);
    if (request === undefined) return;
    request.onOver?.(stringOf(message, 'elicitationAction') === 'accept');
    const edit = { start: message.idStart, end: message.idEnd, text: request.childId };
    request.child.answer(splice(message.line, [edit]));
  }

  /** An extension method may name a session that only the agent knows, but none that the editor knows. */
  #isOwn(row: Method<AgentRoute>, message: Message): boolean {
    const named = sessionIdOf(message);
    const isUnknown = row === unknownAgentMethod || row === actingAgentMethod;
    return isUnknown && (named === undefined || !this.core.sessions.isGiven(named));
  }

  #serve(call: AgentCall): void {
    const { message, row } = call;
    switch (row.route) {
      case 'file':
        this.#file(call);
        break;
      case 'terminal':
        this.services.terminals.serve(call, (edits) => this.#pass(call, edits));
        break;
      case 'elicitation':
        this.#elicitations.serve(call, (edits, onOver) => this.#pass(call, edits, onOver));
        break;
      case 'elicitationComplete':
        this.#elicitations.complete(call);
        break;
      case 'mcp':
        this.services.mcp.fromAgent(call.child, message, (edits, onOver) => this.#pass(call, edits, onOver));
        break;
      case 'status':
        // All agents say the same.
        if (call.child === this.children.usable()[0] && this.#statusUpdates.isNew(message)) this.#pass(call);
        break;
      case 'cancel':
        this.#cancel(call);
        break;
      case 'cursor':
        if (isAnnounced(message.method, this.core.editorCapabilities)) this.#pass(call);
        else this.services.cursor.serve(call);
        break;
      case 'announced':
        // It acts on files or commands, and has no row of its own.
        if (isAnnounced(message.method, this.core.editorCapabilities)) this.#pass(call);
        else this.#refuse(call, 'the editor has not announced it');
        break;
      case 'refuse':
        this.#refuse(call, 'it is not for agents');
        break;
      case 'editor':
        this.#pass(call);
        break;
    }
  }

  #file(call: AgentCall): void {
    const { files } = this.services;
    if (files === undefined) this.core.refuse(call.child, call.message, methodNotFound(call.message.method));
    else files.serve(call, (...checked) => void this.#pass(...checked));
  }

  #refuse({ child, message }: AgentCall, why: string): void {
    const { method } = message;
    this.core.log.info({ method, root: child.root }, `refused to an agent: ${why}`);
    this.core.refuse(child, message, methodNotFound(method));
  }

  /** Passes a message on to the editor. A request gets a new id, which is returned. */
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
   * Tells the observers about an update. False while the session is restored and the update is history: the editor has
   * seen it already.
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

  /** `$/cancel_request` of a request that the editor has open: passed with the editor's id of that request. */
  #cancel(call: AgentCall): void {
    const { child, message } = call;
    const id = fieldOf(message, 'requestId');
    if (id === undefined) return;
    const text = jsonOf(message, id);
    if (this.services.cursor.cancel(child, text)) return;
    const request = this.core.requests.ofAgents.named(child, text);
    if (request === undefined) return;
    child.deliver(splice(message.line, [replacing(id, request.editorId)]));
  }

  /** Forgets the elicitations and terminals of a child that has ended. */
  forget(child: Child): void {
    this.#elicitations.forget(child);
    this.services.terminals.forget(child);
  }
}
