/** Where the editor's requests and notifications go, by the route of their method. */
import { CaiError } from '../errors';
import { errorLine, rpcErrorOf } from '../rpc/answer';
import { fieldOf, jsonOf, textOf } from '../rpc/message';
import type { Message } from '../rpc/message';
import { replacing, splice } from '../rpc/splice';
import type { WorkspaceChild } from '../child/workspace-child';
import { findCheckedWorkspace } from '../workspace/trust';
import type { Children } from '../relay/children';
import type { Call } from '../relay/call';
import type { Core } from '../relay/core';
import { SessionEnder } from './end-session';
import { FanOut } from './fan-out';
import { SessionOpener } from './open-session';
import type { SessionOpenerOptions } from './open-session';
import { Recovery } from './recovery';
import type { RecoveryOptions } from './recovery';
import { sessionIdOf } from '../sessions/session-ids';
import { SessionList } from './session-list';
import { SessionSettings } from '../sessions/session-settings';
import { cancelled, methodNotFound } from '../protocol/refusals';

/** Methods about what is kept of a session, which does not have to be open. */
const aboutRecord = new Set(['session/archive', 'session/unarchive', 'session/set_title']);

/** What the editor's calls are served with. */
export interface EditorCallsOptions
  extends
    Pick<SessionOpenerOptions, 'host' | 'ownProcess' | 'mcp'>,
    Pick<RecoveryOptions, 'agent' | 'attempts' | 'limitMs' | 'room'> {
  /** Takes the editor's part of MCP over ACP. */
  mcpFromEditor(call: Call): void;
}

/** Serves the editor's calls, once `initialize` has been answered. */
export class EditorCalls {
  readonly #opener: SessionOpener;
  readonly #ender: SessionEnder;
  readonly #fanOut: FanOut;
  readonly #list: SessionList;
  readonly #recovery: Recovery;

  /** Works on the tables of `core`. */
  constructor(
    private readonly core: Core,
    private readonly children: Children,
    private readonly options: EditorCallsOptions,
  ) {
    const serve = (call: Call): void => this.serve(call);
    core.serveAgain = serve;
    this.#opener = new SessionOpener(core, children, { ...options, serve });
    const settings = new SessionSettings();
    core.observers.push(settings);
    this.#recovery = new Recovery(core, { ...options, opener: this.#opener, settings, serve });
    this.#ender = new SessionEnder(core, children, options.host);
    this.#fanOut = new FanOut(core, children);
    this.#list = new SessionList(core, children, options.host);
  }

  /** Sends a call where its method's row says; whatever goes wrong with that is its answer. */
  serve(call: Call): void {
    this.#serve(call).catch((error: unknown) => this.core.fail(call, error));
  }

  // Without an `await` before the routing: calls go on in the order in which they came.
  async #serve(call: Call): Promise<void> {
    switch (call.row.route) {
      case 'new':
        await this.#opener.openNew(call);
        break;
      case 'open':
        if (!this.#recovery.hold(sessionIdOf(call.message) ?? '', call)) await this.#opener.openKnown(call);
        break;
      case 'all':
        await this.#fanOut.serve(call);
        break;
      case 'primary':
        this.#send(this.children.primary(), call);
        break;
      case 'list':
        await this.#list.serve(call);
        break;
      case 'cancel':
        // Nobody has it as a request, and every request is answered.
        if (call.request === undefined) this.#cancel(call.message);
        else this.core.answer(call, errorLine(call.request.id, methodNotFound(call.message.method)));
        break;
      case 'mcp':
        this.options.mcpFromEditor(call);
        break;
      case 'any':
        await this.#serveAny(call);
        break;
      default:
        await this.#serveSession(call);
    }
  }

  /** A call for the session that it names. */
  async #serveSession(call: Call): Promise<void> {
    const { message, row } = call;
    const editorId = sessionIdOf(message);
    if (editorId === undefined) {
      throw new CaiError('INVALID_PARAMS', `${message.method}: sessionId must be a string`);
    }
    if (this.#opener.hold(editorId, call) || this.#recovery.hold(editorId, call)) return;
    const session = this.core.sessions.find(editorId);
    if (row.route === 'delete') await this.#ender.delete(call, editorId);
    else if (session === undefined && aboutRecord.has(message.method))
      await this.#ender.serveClosed(call, editorId);
    else if (session === undefined && row.route === 'fork')
      await this.#opener.forkRemembered(call, this.#ender.recordOf(editorId));
    else if (session === undefined) this.#recovery.serve(call, editorId);
    else if (row.route === 'close') this.#ender.close(call, session);
    else if (row.route === 'end') await this.#ender.end(call, session);
    else if (row.route === 'fork') await this.#opener.fork(call, session);
    else this.core.toAgent(session.child, call, { map: session.map, session });
  }

  /**
   * A call for whoever its params name: a session, sessions, a folder. Without a name a request goes to
   * the only child or to the one that was used last, and a notification to all.
   */
  async #serveAny(call: Call): Promise<void> {
    const { message, request } = call;
    const cwd = fieldOf(message, 'cwd');
    if (sessionIdOf(message) !== undefined) {
      await this.#serveSession(call);
    } else if (fieldOf(message, 'sessionRefs') !== undefined) {
      await this.#list.serveNamed(call);
    } else if (cwd?.isString === true) {
      const workspace = await findCheckedWorkspace(textOf(message, cwd), this.options.host);
      const child = this.children.forWorkspace(workspace);
      this.core.toAgent(child, call, { map: this.children.mapFor(workspace) });
    } else {
      const child = this.#unnamedChild(message);
      if (child !== undefined) this.#send(child, call);
      else if (request === undefined) for (const each of this.children.usable()) this.#send(each, call);
      else this.core.answer(call, errorLine(request.id, methodNotFound(message.method)));
    }
  }

  #unnamedChild(message: Message): WorkspaceChild | undefined {
    const usable = this.children.usable();
    if (message.kind === 'notification') return undefined;
    return usable.length === 1 ? usable[0] : this.children.lastUsed;
  }

  #send(child: WorkspaceChild, call: Call): void {
    this.core.toAgent(child, call, { map: child.map });
  }

  /**
   * `$/cancel_request`: to the children that serve the request, under the ids that they know. One that
   * the proxy itself still holds is answered here. An id that is not open means nothing.
   */
  #cancel(message: Message): void {
    const id = fieldOf(message, 'requestId');
    const request = id === undefined ? undefined : this.core.requests.find(jsonOf(message, id));
    if (id === undefined || request === undefined) return;
    request.isCancelled = true;
    if (request.targets.length === 0 && this.core.requests.finish(request)) {
      this.core.lane.queue(errorLine(request.id, rpcErrorOf(cancelled())));
    }
    for (const { child, childId } of request.targets) {
      child.notify(splice(message.line, [replacing(id, childId)]), true);
    }
  }
}
