/**
 * What every part of the proxy works with: the tables, the two ways of passing a message on, and the one
 * way of answering. What is done with which method is decided in `acp/calls/` and `acp/agent-requests.ts`.
 */
import { CaiError } from '../../errors';
import type { Log } from '../../system/log';
import { errorLine, newOwnId, notificationLine, rpcErrorOf, type RpcError } from '../../rpc/answer';
import { wantedIn, type JsonObject } from '../../rpc/json';
import type { Message } from '../../rpc/message';
import { splice, type Edit, type Line } from '../../rpc/splice';
import type { Lane } from '../../rpc/writer';
import { RequestTable } from '../sessions/request-table';
import type { SessionStore } from '../sessions/session-records';
import { SessionTable } from '../sessions/session-table';
import type { Child } from '../child/child';
import type { AgentSession } from '../sessions/session';
import type { CallContext } from './call-context';
import { CallBudget, withOwnLine, type Call } from '../sessions/editor-call';
import type { SessionObserver } from '../sessions/observer';
import { offers } from '../../rpc/protocol/capabilities';
import { cancelled, notOffered } from '../../rpc/protocol/refusals';
import { answerEdits } from './answer-edits';
import { AgentLines, editsOf, pathsToAgent } from './rewrite';
import { SessionIds } from '../sessions/session-ids';
import type { SignIn } from '../sign-in/sign-in';

const nothing = Buffer.alloc(0);

export interface CoreOptions {
  readonly sessions: SessionStore;
  /** What the calls that are kept for one purpose may take together, in bytes. */
  readonly queueBytes: number;
  readonly lane: Lane;
  /** For what is refused or dropped, by method and reason. */
  readonly log: Log;
  readonly signIn: SignIn;
  /** Serves a call that has waited for its session, or did not get to its agent. */
  serve(call: Call): void;
}

/** The state of one proxy and the primitives on it. */
export class Core {
  readonly sessions: SessionTable;
  readonly lane: Lane;
  readonly log: Log;
  readonly signIn: SignIn;
  readonly requests = new RequestTable();
  /** Nobody is there any more to answer what agents ask. */
  isEditorGone = false;
  /** The editor's `clientCapabilities`, from its `initialize`. */
  editorCapabilities: JsonObject = {};
  /** What the editor's `initialize` was answered with, JSON text; undefined before that. It never changes. */
  initializeResult: string | undefined;
  /** Called in this order for what passes in open sessions, except message chunks (`isMessageChunk`). */
  readonly observers: SessionObserver[] = [];
  readonly ids: SessionIds;
  /** The calls that are open at agents, and can be sent once more if they were not delivered. */
  readonly #repeatable: CallBudget;
  readonly agentLines: AgentLines;

  constructor(private readonly options: CoreOptions) {
    const { lane, log, queueBytes, sessions: store, signIn } = options;
    [this.lane, this.log, this.signIn] = [lane, log, signIn];
    this.sessions = new SessionTable({
      store,
      queueBytes,
      serve: (call) => this.serveAgain(call),
      onLeaving: (session) => this.observers.forEach((each) => each.onLeaving?.(session)),
      onClose: (session) => {
        for (const observer of this.observers) observer.onClose?.(session);
      },
    });
    this.ids = new SessionIds(this.sessions, log);
    this.#repeatable = this.newBudget();
    this.agentLines = new AgentLines(this.ids);
  }

  /** Serves a call that has waited, unless it was cancelled, and so answered, meanwhile. */
  serveAgain(call: Call): void {
    if (call.request === undefined || this.requests.isWanted(call.request)) this.options.serve(call);
  }

  /** A budget for calls that are kept for another purpose. */
  newBudget(): CallBudget {
    return new CallBudget(this.options.queueBytes);
  }

  /** Answers a request of the editor with a complete response line, unless it is over already. */
  answer(call: Call, line: Line, lane: Lane = this.lane): void {
    if (call.request !== undefined && this.requests.finish(call.request)) lane.queue(line);
  }

  /** Answers a request of the editor with an error; nothing happens for a notification. */
  fail(call: Call, reason: unknown, lane: Lane = this.lane): void {
    const { request } = call;
    if (request === undefined) return;
    if (!(reason instanceof CaiError)) this.log.error({ err: reason }, 'internal error');
    this.answer(call, errorLine(request.id, rpcErrorOf(reason)), lane);
  }

  refuse(child: Child, message: Message, error: RpcError): void {
    if (message.id !== undefined) child.answer(errorLine(message.id, error));
  }

  /** Passes a call on to a child, now or when it has started. */
  toAgent(child: Child, given: Call, context: CallContext): void {
    const call = child.state === 'starting' ? withOwnLine(given) : given;
    child.whenReady({
      bytes: call.message.line.length,
      run: () => {
        // It may have been cancelled, and so answered, while it waited.
        const { request } = call;
        if (request === undefined || this.requests.isWanted(request)) {
          this.#send(child, call, context);
        } else {
          context.onNoResult?.(cancelled());
        }
      },
      onFailure: (reason) => {
        context.onNoResult?.(reason);
        this.fail(call, reason);
      },
    });
  }

  /** Passes a message of an agent on to the editor, with `more` edits besides the edits of its fields. */
  toEditor(
    child: Child,
    message: Message,
    context: Pick<CallContext, 'map' | 'session'>,
    more: readonly Edit[],
  ): void {
    const edits = this.agentLines.editsOf(child, message, context);
    child.deliver(splice(message.line, more.length === 0 ? edits : [...edits, ...more]));
  }

  /** Tells the agent to end the session's turn, if it is at one. */
  cancelTurn(session: AgentSession): void {
    if (!session.child.requests.turns.has(session)) return;
    const params = JSON.stringify({ sessionId: session.agentId });
    session.child.notify(notificationLine('session/cancel', params), true);
  }

  #send(child: Child, call: Call, context: CallContext): void {
    const { message, row, request } = call;
    if (row.capability !== undefined && !offers(child.hello?.capabilities, row.capability)) {
      const reason = notOffered(message.method);
      context.onNoResult?.(reason);
      this.fail(call, reason);
      return;
    }
    const { session } = context;
    if (session !== undefined) for (const observer of this.observers) observer.onCall?.(session, message);
    const edits = editsOf(message, {
      ...pathsToAgent(context.map),
      session: (id) => this.ids.agentIdOf(child, id, session),
    });
    if (request === undefined) {
      child.notify(splice(message.line, edits), message.method === 'session/cancel');
      context.onNoResult?.(undefined);
      return;
    }
    // `null` is a legal id in v1, but a receiver may take such a request for a notification.
    const childId = request.id === 'null' ? newOwnId() : request.id;
    if (childId !== request.id) edits.push({ start: message.idStart, end: message.idEnd, text: childId });
    request.targets.push({ child, childId });
    const isRepeatable = session !== undefined && request.isOurs !== true && context.onNoResult === undefined;
    const again = isRepeatable && this.#repeatable.take(call) ? call : undefined;
    const forget = (): void => again && this.#repeatable.giveBack(again);
    const line = splice(message.line, edits);
    // Until the answer, a line is kept here only to be sent once more.
    const sent = again ?? { ...call, message: { ...message, line: nothing } };
    child.request(childId, line, {
      method: message.method,
      resultPlan: wantedIn(row.result),
      editorId: request.isOurs ? undefined : request.id,
      session,
      onAnswer: (answer) => {
        forget();
        this.#passAnswer(child, sent, context, answer);
      },
      onFailure: (reason) => {
        forget();
        this.#failAtAgent(child, sent, context, reason, again);
      },
    });
  }

  /** There will be no answer to a request. One that was not delivered is served `again`. */
  #failAtAgent(
    child: Child,
    call: Call,
    { session, onNoResult }: CallContext,
    reason: CaiError,
    again: Call | undefined,
  ): void {
    if (session !== undefined)
      for (const observer of this.observers) {
        observer.onLost?.(session, call.message);
        if (call.message.method === 'session/prompt') observer.onPromptOver?.(session);
      }
    const { isCancelled, targets } = call.request!;
    if (again !== undefined && !isCancelled && reason.code === 'UNDELIVERED') {
      targets.length = 0;
      // Once its session is known to be lost.
      queueMicrotask(() => this.serveAgain(again));
      return;
    }
    onNoResult?.(reason);
    this.fail(call, reason, child.lane);
  }

  #passAnswer(child: Child, call: Call, context: CallContext, answer: Message): void {
    const { request, message } = call;
    const { session } = context;
    const refusal = answer.isError ? undefined : context.refuse?.(answer);
    if (refusal !== undefined) {
      this.#failAtAgent(child, call, context, refusal, undefined);
      return;
    }
    if (!answer.isError) context.onResult?.(answer);
    if (session !== undefined)
      for (const observer of this.observers) {
        observer.onAnswer?.(session, message.method, answer);
        if (message.method === 'session/prompt') observer.onPromptOver?.(session);
      }
    if (request?.isOurs !== true) child.setServed();
    if (request !== undefined && this.requests.find(request.id) === request) {
      const id = { start: answer.idStart, end: answer.idEnd, text: request.id };
      this.toEditor(child, answer, { map: context.map }, [id, ...answerEdits(this, child, answer)]);
      this.requests.finish(request);
    }
    // Last, because the error may name the session that was to be opened.
    if (answer.isError) context.onNoResult?.(answer);
  }
}
