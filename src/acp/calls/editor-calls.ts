/** Where the editor's requests and notifications go, by the route of their method. */
import { CaiError } from '../../errors';
import { errorLine, resultLine } from '../../rpc/answer';
import { fieldOf, type Message } from '../../rpc/message';
import type { McpMessages } from '../mcp/mcp-messages';
import type { McpServers } from '../mcp/mcp-servers';
import type { ProxyOptions } from '../proxy-options';
import type { Children } from '../relay/children';
import { withOwnLine, type Call } from '../sessions/call';
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
    this.#serve(call).catch((error: unknown) => this.core.fail(call, error));
  }

  // Without an `await` before the routing: calls go on in the order in which they came.
  async #serve(call: Call): Promise<void> {
    switch (call.row.route) {
      case 'new':
        await this.#opener.openNew(call);
        break;
      case 'all':
        if (call.row.repeat === 'clear' && this.options.host.workspaces !== undefined)
          throw new CaiError(
            'NOT_OFFERED',
            'signing out would concern everybody who uses this server: ask whoever runs it',
          );
        await this.#fanOut.serve(call);
        break;
      case 'primary':
        sendTo(this.core, this.children.primary(), call);
        break;
      case 'list':
        await this.#list.serve(call);
        break;
      case 'cancel':
        // It exists only as a notification, but every request is answered.
        if (call.request === undefined) cancelRequest(this.core, call.message);
        else this.core.answer(call, errorLine(call.request.id, methodNotFound(call.message.method)));
        break;
      case 'mcp':
        this.mcpMessages.fromEditor(call);
        break;
      case 'any':
        await this.#serveAny(call);
        break;
      default:
        await this.#serveSession(call);
    }
  }

  async #serveSession(call: Call): Promise<void> {
    const { message, row } = call;
    const editorId = sessionIdOf(message);
    if (editorId === undefined) {
      throw new CaiError('INVALID_PARAMS', `${message.method}: sessionId must be a string`);
    }
    const { sessions } = this.core;
    const owner = sessions.get(editorId);
    if (owner?.isHeld === true && this.#waits(owner, call)) return;
    const session = owner?.openPlace;
    const hold = async (step: (held: Session) => Promise<void>): Promise<void> =>
      await sessions.hold(editorId, step);
    switch (row.route) {
      case 'open':
        await hold((held) => this.#opener.openKnown(call, held));
        break;
      case 'delete':
        await hold(() => this.#ender.delete(call, editorId));
        break;
      case 'fork':
        if (session === undefined)
          await hold(() => this.#opener.openNew(call, this.#ender.recordOf(editorId)));
        else await hold(() => this.#opener.fork(call, session));
        break;
      default:
        if (session === undefined) await this.#serveAbsent(call, editorId, owner);
        else if (row.route === 'close') await hold(() => this.#ender.close(call, session));
        else if (row.route === 'end') await hold(() => this.#ender.end(call, session));
        else this.#sendInSession(session, call);
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
  async #serveAny(call: Call): Promise<void> {
    if (sessionIdOf(call.message) !== undefined) await this.#serveSession(call);
    else if (fieldOf(call.message, 'sessionRefs') !== undefined) await this.#list.serveNamed(call);
    else await serveUnnamed(this.core, this.children, this.options.host, call);
  }
}
