/**
 * Sessions whose agent has ended are restored when they are used next: in a new agent, by a call of our own
 * in the words of the one that opened them. What the user has sent meanwhile follows, once, in its order.
 */
import { loggedFailure } from '../agent/agent-end';
import { patientStop } from '../agent/process';
import { CaiError, messageOf, rpcCode } from '../errors';
import { resultLine } from '../rpc/answer';
import { bodyOf } from '../rpc/message';
import type { Message } from '../rpc/message';
import type { Session, WorkspaceChild } from '../child/workspace-child';
import type { EditorRequest } from '../relay/request-table';
import type { Call } from '../relay/call';
import type { Core } from '../relay/core';
import { replayOver } from '../relay/observe-update';
import { HeldCalls } from './waiting-calls';
import type { WaitingRoom } from './waiting-calls';
import { editorMethods } from '../protocol/methods';
import type { Restored, SessionOpener } from './open-session';
import { offers, unknownSession } from '../protocol/refusals';
import { reopeningCall } from './reopening-call';
import type { SessionSettings } from '../sessions/session-settings';
import { setAgain } from './restore-setting';
import { within } from '../system/time-limit';

/** Methods that restore a session, the preferred one first: `resume` does not replay the history. */
const reopeners = ['session/resume', 'session/load'] as const;

/** What recovery is made from. */
export interface RecoveryOptions {
  /** Name of the agent. */
  readonly agent: string;
  /** How many agents in succession may fail to restore a session. */
  readonly attempts: number;
  /** How long an agent that has started may take to restore one, in milliseconds. */
  readonly limitMs: number;
  /** Where calls wait for the sessions. */
  readonly room: WaitingRoom;
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

/** As `Restored`, with why it is not open. */
interface Reopened {
  readonly session: Session;
  readonly failure?: Failure;
}

/** A session that is being restored. */
interface Restore {
  /** The calls that wait for it, in their order. */
  readonly waiting: HeldCalls;
  /** As it is to be open, once that is known. */
  session?: Session;
  /** Our call to the agent. */
  request?: EditorRequest;
  /** Ends the wait for its answer. */
  giveUp?(reason: CaiError): void;
}

/** Restores sessions. */
export class Recovery {
  /** What is being restored, by the editor's ids. */
  readonly #restores = new Map<string, Restore>();

  /** Works on the tables of `core`. */
  constructor(
    private readonly core: Core,
    private readonly options: RecoveryOptions,
  ) {}

  /** Keeps a call for a session that is being restored, unless it closes that; false when it is not. */
  hold(editorId: string, call: Call): boolean {
    const restore = this.#restores.get(editorId);
    if (restore === undefined) return false;
    const { waiting } = restore;
    if (isClosing(call)) {
      this.#close(editorId, restore, call);
    } else if (call.message.method === 'session/cancel' && call.request === undefined) {
      waiting.cancelPrompts(this.core);
    } else {
      this.#wait(editorId, restore, call);
    }
    return true;
  }

  /** Serves a call for a session that is not open: it follows once that is restored, if its agent was lost. */
  serve(call: Call, editorId: string): void {
    const { request } = call;
    const lost = this.core.sessions.lost(editorId);
    if (lost === undefined) throw unknownSession(editorId);
    // A notification is about something that has ended with the agent.
    if (request === undefined) return;
    if (isClosing(call)) {
      this.core.sessions.giveUp(editorId);
      this.core.answer(call, resultLine(request.id, '{}'));
    } else {
      this.#begin(lost, call);
    }
  }

  #wait(editorId: string, { waiting }: Restore, call: Call): void {
    if (waiting.add(call)) return;
    throw new CaiError('AGENT_STALLED', `too much waits for session ${editorId} to be restored`);
  }

  /**
   * The editor closes the session meanwhile: what waits fails, except `session/delete`. What the agent still says of
   * the session is dropped.
   */
  #close(editorId: string, restore: Restore, call: Call): void {
    const { waiting, session } = restore;
    this.#restores.delete(editorId);
    const reason = new CaiError('SESSION_LOST', `session ${editorId} was closed while it was being restored`);
    restore.giveUp?.(reason);
    if (session !== undefined) this.#leave(session, restore, call);
    this.core.sessions.giveUp(editorId);
    if (call.request !== undefined) this.core.answer(call, resultLine(call.request.id, '{}'));
    for (const each of waiting.takeAll()) {
      if (each.row.route === 'delete') this.options.serve(each);
      else this.core.fail(each, reason);
    }
  }

  /** The agent is told, if it has heard of the session and is there to be told. */
  #leave(session: Session, { request }: Restore, { row }: Call): void {
    const { child, agentId } = session;
    // One that is made anew has no id yet.
    const isNamed = child.sessions.get(agentId) === session;
    this.core.sessions.close(session);
    const isKnown = isNamed && child.state === 'ready' && request?.targets.length === 1;
    if (isKnown && offers(child.capabilities, 'sessionCapabilities.close')) {
      child.ask('session/close', JSON.stringify({ sessionId: agentId }), {
        resultPlan: undefined,
        editorId: undefined,
        onAnswer: () => undefined,
        onFailure: () => undefined,
      });
    }
    if (row.route === 'end' && child.sessions.size + child.openings.length === 0)
      void child.stop(patientStop);
  }

  #begin(lost: Session, call: Call): void {
    const { editorId } = lost;
    const isOffered = (each: string): boolean =>
      offers(lost.child.capabilities, editorMethods[each]!.capability!);
    const method = lost.isUnused === true ? 'session/new' : reopeners.find(isOffered);
    if (method === undefined) {
      const text = `agent "${this.options.agent}" has ended and cannot reopen sessions: start a new one`;
      throw new CaiError('SESSION_UNKNOWN', text, { sessionId: editorId });
    }
    const restore: Restore = { waiting: new HeldCalls(this.options.room) };
    this.#wait(editorId, restore, call);
    this.#restores.set(editorId, restore);
    this.#restore(lost, method, restore)
      .catch((reason: unknown): Failure => ({ reason: this.#failureOf(reason) }))
      .then((failure) => {
        if (this.#restores.get(editorId) === restore) this.#restores.delete(editorId);
        for (const each of restore.waiting.takeAll()) {
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
    try {
      if (refused === undefined) this.core.fail(call, reason);
      else this.core.passOn(refused.child, call, refused.answer);
    } catch (bug) {
      // The others get theirs.
      this.core.fail(call, bug);
    }
  }

  /** Resolves with what has failed, or undefined when the session is open and as it was. */
  async #restore(lost: Session, method: string, restore: Restore): Promise<Failure | undefined> {
    const settings = this.options.settings.of(lost);
    const isClosed = (): boolean => this.#restores.get(lost.editorId) !== restore;
    for (let attempt = 1; ; attempt++) {
      const { session, failure } = await this.#reopen(lost, method, restore);
      if (failure === undefined) {
        for (const setting of settings) {
          // The agent may have said meanwhile what it begins with.
          const onSet = (): void => this.options.settings.keep(session, setting);
          // One that does not answer is not waited for again and again.
          if (isClosed() || !(await setAgain(session, setting, this.core.log, onSet))) break;
        }
        if (isClosed() || this.core.sessions.find(lost.editorId) === session) return undefined;
      } else if (failure.reason.code !== 'AGENT_EXITED') {
        return failure;
      }
      // The agent has ended over it. Another one is started later, if there is to be one.
      const { isGivenUp, endReason } = session.child;
      if (isGivenUp || attempt >= this.options.attempts) {
        for (const setting of settings) this.options.settings.keep(session, setting);
        return failure ?? { reason: endReason ?? this.#lost('has ended again') };
      }
      const about = { attempt, ...(endReason && loggedFailure(endReason)) };
      this.core.log.warn(about, 'session not restored: tried again');
    }
  }

  async #reopen(lost: Session, method: string, restore: Restore): Promise<Reopened> {
    const { opener, settings } = this.options;
    const call = reopeningCall(this.core, lost, method);
    restore.request = call.request!;
    const givenUp = new Promise<Restored>((resolve) => {
      restore.giveUp = (failure) => {
        call.request!.isCancelled = true;
        resolve({ session: restore.session ?? lost, failure });
      };
    });
    let setReady = (): void => undefined;
    const ready = new Promise<void>((resolve) => (setReady = resolve));
    const opened = opener.restore(call, lost, (session) => {
      settings.inherit(session, lost);
      restore.session = session;
      session.child.whenReady({ bytes: 0, run: setReady, onFailure: () => undefined });
    });
    const over = Promise.race([opened, givenUp]);
    await Promise.race([ready, over]);
    const restored = (await within(this.options.limitMs, over)) ?? this.#giveUp(restore);
    const { session, failure } = restored;
    if ('failure' in restored) return { session, failure: this.#refusal(session.child, failure) };
    if (session.isRestoring === true) await replayOver(session, this.options.limitMs);
    return { session };
  }

  /** The agent has taken too long: the session is as lost as before. */
  #giveUp({ session, request }: Restore): Restored {
    request!.isCancelled = true;
    this.core.sessions.lose(session!);
    const { agent, limitMs } = this.options;
    const text = `agent "${agent}" did not restore the session in ${limitMs / 1_000} s: try again, or start a new one`;
    return { session: session!, failure: new CaiError('AGENT_TIMEOUT', text) };
  }

  #refusal(child: WorkspaceChild, reason: CaiError | Message | undefined): Failure {
    if (reason === undefined || reason instanceof CaiError)
      return { reason: reason ?? this.#lost('is gone') };
    const error = bodyOf(reason) as { code?: unknown } | null | undefined;
    const failure = this.#lost(`could not restore the session: ${saidIn(error)}. Start a new one`);
    return error?.code === rpcCode.authRequired
      ? { reason: failure, refused: { child, answer: reason } }
      : { reason: failure };
  }

  #lost(what: string): CaiError {
    return new CaiError('SESSION_LOST', `agent "${this.options.agent}" ${what}`);
  }
}

/** Of an agent's details, in characters. */
const maxDetails = 500;

/** What an agent's error says. Often its message is that of the code alone, and the cause stands in `data`. */
function saidIn(error: unknown): string {
  const { message, data } = (error ?? {}) as { message?: unknown; data?: { details?: unknown } | null };
  const said = typeof message === 'string' ? message : 'no reason given';
  const details = data?.details;
  return typeof details === 'string' ? `${said}: ${details.slice(0, maxDetails)}` : said;
}

function isClosing({ row }: Call): boolean {
  return row.route === 'close' || row.route === 'end';
}

/** A session need not be restored to be closed, and what opens it does so itself. */
function isForAgent({ row, request }: Call): boolean {
  return request === undefined || !['close', 'end', 'delete', 'open'].includes(row.route);
}
