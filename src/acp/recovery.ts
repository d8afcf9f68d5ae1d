/**
 * Sessions whose agent has ended are restored when they are used next: in a new agent, by a call of our own
 * in the words of the one that opened them. What the user has sent meanwhile follows, once, in its order.
 */
import { CaiError, messageOf, rpcCode } from '../errors';
import { requestLine, resultLine } from '../rpc/answer';
import { fieldOf, scan } from '../rpc/scan';
import type { Message } from '../rpc/scan';
import { cut } from '../rpc/splice';
import { newOwnId } from '../session/workspace-child';
import type { Session, WorkspaceChild } from '../session/workspace-child';
import type { Call } from './call';
import type { Core } from './core';
import { paramsOf } from './fan-out';
import { editorMethods } from './methods';
import type { SessionOpener } from './open-session';
import { offers, unknownSession } from './refusals';
import type { SessionSettings } from './session-settings';
import { within } from './within';

/** Calls that may wait for one session to be restored. */
const maxWaiting = 1_000;
/** How long a mode or an option may take to be set again, in milliseconds. */
const settingMs = 10_000;

/** What can restore a session, the better one first: it tells nothing of the past. */
const reopeners = ['session/resume', 'session/load'] as const;

/** What recovery is made from. */
export interface RecoveryOptions {
  /** Name of the agent. */
  readonly agent: string;
  /** How many agents in succession may fail to restore a session. */
  readonly attempts: number;
  /** Opens the sessions. */
  readonly opener: SessionOpener;
  /** What is set again in them. */
  readonly settings: SessionSettings;
  /** Takes up a call that had to wait. */
  serve(call: Call): void;
}

/** Why a session could not be restored; `answer` is the agent's, an error. */
interface Failure {
  readonly reason: CaiError;
  readonly refused?: { readonly child: WorkspaceChild; readonly answer: Message };
}

/** Restores sessions. */
export class Recovery {
  /** What waits for each session that is being restored, in its order. */
  readonly #waiting = new Map<string, Call[]>();

  /** Works on the tables of `core`. */
  constructor(
    private readonly core: Core,
    private readonly options: RecoveryOptions,
  ) {}

  /** Keeps a call for a session that is being restored; false when it is not. */
  hold(editorId: string, call: Call): boolean {
    const waiting = this.#waiting.get(editorId);
    if (waiting === undefined) return false;
    if (call.message.method === 'session/cancel') {
      for (const each of waiting.splice(0)) if (!this.#cancel(each)) waiting.push(each);
    } else if (waiting.length < maxWaiting) {
      waiting.push(call);
    } else {
      throw new CaiError('AGENT_STALLED', `too much waits for session ${editorId} to be restored`);
    }
    return true;
  }

  /** Serves a call for a session that is not open: it follows once that is restored, if its agent was lost. */
  serve(call: Call, editorId: string): void {
    const { request, row } = call;
    const lost = this.core.sessions.lost(editorId);
    if (lost === undefined) throw unknownSession(editorId);
    // A notification is about something that has ended with the agent.
    if (request === undefined) return;
    if (row.route === 'close' || row.route === 'end') {
      this.core.sessions.giveUp(editorId);
      this.core.answer(call, resultLine(request.id, '{}'));
    } else {
      this.#begin(lost, call);
    }
  }

  /** Answers a prompt that no agent has got. Source: ACP v1, prompt turn, cancellation. */
  #cancel(call: Call): boolean {
    const { message, request } = call;
    if (message.method !== 'session/prompt' || request === undefined) return false;
    this.core.answer(call, resultLine(request.id, '{"stopReason":"cancelled"}'));
    return true;
  }

  #begin(lost: Session, call: Call): void {
    const { editorId } = lost;
    const method = reopeners.find((each) =>
      offers(lost.child.capabilities, editorMethods[each]!.capability!),
    );
    if (method === undefined) {
      const text = `agent "${this.options.agent}" has ended and cannot reopen sessions: start a new one`;
      throw new CaiError('SESSION_UNKNOWN', text, { sessionId: editorId });
    }
    const waiting = [call];
    this.#waiting.set(editorId, waiting);
    this.#restore(lost, method)
      .catch((reason: unknown): Failure => ({ reason: this.#failureOf(reason) }))
      .then((failure) => {
        this.#waiting.delete(editorId);
        for (const each of waiting) {
          if (failure === undefined || !isForAgent(each)) this.options.serve(each);
          else this.#fail(each, failure);
        }
      })
      .catch((reason: unknown) => this.core.log.error({ err: reason }, 'internal error'));
  }

  #failureOf(reason: unknown): CaiError {
    if (reason instanceof CaiError) return reason;
    this.core.log.error({ err: reason }, 'internal error');
    return new CaiError('SESSION_LOST', messageOf(reason));
  }

  /** A need to sign in is for the editor to see as the agent has told it. */
  #fail(call: Call, { reason, refused }: Failure): void {
    if (refused === undefined) this.core.fail(call, reason);
    else this.core.passOn(refused.child, call, refused.answer);
  }

  /** Resolves with what has failed, or undefined when the session is open and as it was. */
  async #restore(lost: Session, method: string): Promise<Failure | undefined> {
    const settings = this.options.settings.of(lost);
    for (let attempt = 1; ; attempt++) {
      const { session, failure } = await this.#reopen(lost, method);
      if (failure === undefined) {
        for (const { method: setter, params } of settings) await this.#set(session, setter, params);
        if (this.core.sessions.find(lost.editorId) === session) return undefined;
      } else if (failure.reason.code !== 'AGENT_EXITED') {
        return failure;
      }
      // The agent has ended over it. Another one is started later, if there is to be one.
      const { isLast, endReason } = session.child;
      if (isLast || attempt >= this.options.attempts) {
        return failure ?? { reason: endReason ?? this.#lost('has ended again') };
      }
      this.core.log.warn({ attempt, reason: endReason?.message }, 'session not restored: tried again');
    }
  }

  async #reopen(lost: Session, method: string): Promise<{ session: Session; failure?: Failure }> {
    const { opener, settings } = this.options;
    const inherit = (session: Session): void => settings.inherit(session, lost);
    const restored = await opener.restore(this.#callOf(lost, method), lost, inherit);
    const { session, failure } = restored;
    return 'failure' in restored ? { session, failure: this.#refusal(session.child, failure) } : { session };
  }

  #refusal(child: WorkspaceChild, reason: CaiError | Message | undefined): Failure {
    if (reason === undefined || reason instanceof CaiError)
      return { reason: reason ?? this.#lost('is gone') };
    const { code, message } = JSON.parse(paramsOf(reason) ?? '{}') as { code?: unknown; message?: unknown };
    const failure = this.#lost(`could not restore the session: ${String(message)}. Start a new one`);
    return code === rpcCode.authRequired
      ? { reason: failure, refused: { child, answer: reason } }
      : { reason: failure };
  }

  #lost(what: string): CaiError {
    return new CaiError('SESSION_LOST', `agent "${this.options.agent}" ${what}`);
  }

  /** The call that opened the session, as one that reopens it; it is no request of the editor. */
  #callOf({ editorId, opening }: Session, method: string): Call {
    const id = newOwnId();
    const row = editorMethods[method]!;
    const plan = this.core.planOf(row.params);
    const read = (params: string): Message =>
      scan((requestLine(id, method, params) as Buffer).subarray(0, -1), {
        params: () => plan,
        result: () => undefined,
        error: undefined,
      });
    const opened = read(opening!);
    const named = fieldOf(opened, 'session');
    const { line, bodyStart, bodyEnd } = opened;
    const name = JSON.stringify(editorId);
    const edit =
      named === undefined
        ? { start: bodyStart + 1, end: bodyStart + 1, text: `"sessionId":${name},` }
        : { start: named.start, end: named.end, text: name };
    const message = read(cut(line, bodyStart, bodyEnd, [edit]));
    return { message, row, request: { id, method, targets: [], isCancelled: false, isOurs: true } };
  }

  /** Sets something again; what the agent does not want is only noted. */
  async #set(session: Session, method: string, params: object): Promise<void> {
    const { child, agentId } = session;
    const text = JSON.stringify({ ...params, sessionId: agentId });
    const failed = (reason: string): void => this.core.log.warn({ method, reason }, 'could not be set again');
    const isOver = await within(
      settingMs,
      new Promise<true>((resolve) => {
        child.whenReady({
          bytes: text.length,
          run: () =>
            child.ask(method, text, {
              resultPlan: undefined,
              editorId: undefined,
              onAnswer: ({ isError }) => {
                if (isError) failed('the agent refused it');
                resolve(true);
              },
              onFailure: (reason) => {
                failed(reason.message);
                resolve(true);
              },
            }),
          onFailure: (reason) => {
            failed(reason.message);
            resolve(true);
          },
        });
      }),
    );
    if (isOver !== true) failed(`no answer in ${settingMs / 1_000} s`);
  }
}

/** A session need not be restored to be closed, and what opens it does so itself. */
function isForAgent({ row, request }: Call): boolean {
  return request === undefined || !['close', 'end', 'delete', 'open'].includes(row.route);
}
