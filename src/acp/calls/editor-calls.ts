/** Where the editor's requests and notifications go, by the route of their method. */
import { CaiError } from '../../errors';
import { errorLine, resultLine } from '../../rpc/answer';
import { fieldOf, type Message } from '../../rpc/message';
import type { McpMessages } from '../mcp/mcp-messages';
import type { McpServers } from '../mcp/mcp-servers';
import type { ProxyOptions } from '../proxy-options';
import type { Children } from '../child/children';
import { withOwnLine, type Call } from '../sessions/editor-call';
import type { Core } from '../relay/core';
import { SessionEnder } from './end-session';
import { FanOut } from './fan-out';
import { cancelRequest, sendTo, serveUnnamed } from './no-session';
import { SessionOpener } from './sessions/open';
import { isClosing, SessionRestorer } from './sessions/restore';
import type { AgentSession, Session } from '../sessions/session';
import { sessionIdOf } from '../sessions/session-ids';
import { SessionList } from './session-list';
import { unknownEditorMethod } from '../../rpc/protocol/methods';
import { methodNotFound, unknownSession } from '../../rpc/protocol/refusals';

/** Serves the editor's calls, once `initialize` has been answered. */
export class EditorCalls {
  readonly #opener: SessionOpener;
  readonly #ender: SessionEnder;
  readonly #fanOut: FanOut;
  readonly #list: SessionList;
  readonly #restorer: SessionRestorer;

  constructor(
    private readonly core: Core,
    private readonly children: Children,
    mcp: McpServers,
    private readonly mcpMessages: McpMessages,
    private readonly options: ProxyOptions,
  ) {
    this.#opener = new SessionOpener(core, children, mcp, options);
    this.#restorer = new SessionRestorer(core, this.#opener, options);
    this.#ender = new SessionEnder(core, children, options.host);
    this.#fanOut = new FanOut(core, children);
    this.#list = new SessionList(core, children, options.host);
  }

  /** Sends a call where its method's row says. If that fails, the failure is the answer. */
  serve(given: Call): void {
    // All but calls of open sessions may take long.
    const call = given.row.route === 'session' ? given : withOwnLine(given);
    const fail = (error: unknown): void => this.core.fail(call, error);
    try {
      this.#serve(call)?.catch(fail);
    } catch (error) {
      fail(error);
    }
  }

  /** Routes a call at once, as calls go on in the order in which they came; what takes longer is returned. */
  #serve(call: Call): Promise<void> | undefined {
    switch (call.row.route) {
      case 'new':
        return this.#opener.openNew(call);
      case 'all':
        if (call.row.repeat === 'clear' && this.options.host.workspaces !== undefined)
          throw new CaiError(
            'NOT_OFFERED',
            'signing out would concern everybody who uses this server: ask whoever runs it',
          );
        return this.#fanOut.serve(call);
      case 'primary':
        sendTo(this.core, this.children.primary(), call);
        return undefined;
      case 'list':
        return this.#list.serve(call);
      case 'cancel':
        // It exists only as a notification, but every request is answered.
        if (call.request === undefined) cancelRequest(this.core, call.message);
        else this.core.answer(call, errorLine(call.request.id, methodNotFound(call.message.method)));
        return undefined;
      case 'mcp':
        this.mcpMessages.fromEditor(call);
        return undefined;
      case 'any':
        return this.#serveAny(call);
      default:
        return this.#serveSession(call);
    }
  }

  #serveSession(call: Call): Promise<void> | undefined {
    const { message, row } = call;
    const editorId = sessionIdOf(message);
    if (editorId === undefined) {
      throw new CaiError('INVALID_PARAMS', `${message.method}: sessionId must be a string`);
    }
    const { sessions } = this.core;
    const owner = sessions.get(editorId);
    if (owner?.isHeld === true && this.#waits(owner, call)) return undefined;
    const session = owner?.atAgent;
    const hold = (step: (held: Session) => Promise<void>): Promise<void> => sessions.hold(editorId, step);
    switch (row.route) {
      case 'open':
        return hold((held) => this.#opener.openKnown(call, held));
      case 'delete':
        return hold(() => this.#ender.delete(call, editorId));
      case 'fork':
        if (session === undefined)
          return hold(() => this.#opener.openNew(call, this.#ender.recordOf(editorId)));
        return hold(() => this.#opener.fork(call, session));
      default:
        if (session === undefined) return this.#serveAbsent(call, editorId, owner);
        if (row.route === 'close') return hold(() => this.#ender.close(call, session));
        if (row.route === 'end') return hold(() => this.#ender.end(call, session));
        this.#sendInSession(session, call);
        return undefined;
    }
  }

  /** A call for an open session. A session that a method without a row gives is opened in the same folders. */
  #sendInSession(session: AgentSession, call: Call): void {
    const { child, map } = session;
    const onResult = (result: Message): void => {
      const given = call.row === unknownEditorMethod ? sessionIdOf(result) : undefined;
      if (given !== undefined) this.core.ids.editorIdOf(child, given, session);
    };
    this.core.toAgent(child, call, { map, session, onResult });
  }

  /** A call for a session that no agent has. */
  async #serveAbsent(call: Call, editorId: string, owner: Session | undefined): Promise<void> {
    if (call.row.isAboutStored === true)
      await this.core.sessions.hold(editorId, () => this.#ender.serveClosed(call, editorId));
    else if (owner?.lost !== undefined) await this.#restorer.serve(call, owner);
    else throw unknownSession(editorId);
  }

  /** Has a call wait for the earlier calls of its session; false if it need not wait. */
  #waits(owner: Session, call: Call): boolean {
    const { message, request } = call;
    const isCancel = message.method === 'session/cancel' && request === undefined;
    if (owner.endRestore !== undefined && isClosing(call)) {
      owner.endRestore(call);
    } else if (owner.endRestore !== undefined && isCancel) {
      this.#cancelPrompts(owner);
    } else if (!owner.wait(call)) {
      if (!isCancel) throw owner.crowded(call);
      // It may also be meant for a turn that the agent is at.
      this.#cancelPrompts(owner);
      return false;
    }
    return true;
  }

  /** Answers the waiting prompts, which no agent has got. Source: ACP v1, prompt turn, cancellation. */
  #cancelPrompts(owner: Session): void {
    for (const call of owner.takePrompts())
      if (call.request !== undefined)
        this.core.answer(call, resultLine(call.request.id, '{"stopReason":"cancelled"}'));
  }

  /** A call that goes where its params say: to a session, to sessions, or elsewhere. */
  #serveAny(call: Call): Promise<void> | undefined {
    if (sessionIdOf(call.message) !== undefined) return this.#serveSession(call);
    if (fieldOf(call.message, 'sessionRefs') !== undefined) return this.#list.serveNamed(call);
    return serveUnnamed(this.core, this.children, this.options.host, call);
  }
}
