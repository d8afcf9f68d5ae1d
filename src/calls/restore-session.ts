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
import type { WorkspaceChild } from '../child/workspace-child';
import type { Core } from '../relay/core';
import { editorMethods } from '../protocol/methods';
import { offers } from '../protocol/refusals';
import type { Call } from '../sessions/call';
import type { AgentSession, Session } from '../sessions/session';
import type { EditorRequest } from '../sessions/request-table';
import type { Restored, SessionOpener } from './open-session';
import { reopeningCall } from './reopening-call';
import { setAgain } from './restore-setting';
import { within } from '../system/time-limit';

/** Methods that restore a session, the preferred one first: `resume` does not replay the history. */
const reopeners = ['session/resume', 'session/load'] as const;

/** What sessions are restored with. */
export interface SessionRestorerOptions {
  /** Name of the agent. */
  readonly agent: string;
  /** How many agents in succession may fail to restore a session. */
  readonly attempts: number;
  /** How long an agent that has started may take to restore one, in milliseconds. */
  readonly limitMs: number;
  /** Opens the sessions. */
  readonly opener: SessionOpener;
}

/** Why a session could not be restored; `answer` is the agent's, an error. */
interface Failure {
  readonly reason: CaiError;
  readonly refused?: { readonly child: WorkspaceChild; readonly answer: Message };
}

/** As `Restored`, with why it is not open. */
interface Reopened {
  readonly session: AgentSession;
  readonly failure?: Failure;
}

/** The restore of one session, which has several attempts. */
interface Restore {
  readonly lost: AgentSession;
  readonly method: string;
  /** The editor has closed the session meanwhile. */
  isOver: boolean;
  /** As the session is to be open, once that is known. */
  session?: AgentSession;
  /** Our call to the agent. */
  request?: EditorRequest;
  /** Ends the wait for its answer. */
  giveUp?(reason: CaiError): void;
}

/** Restores sessions. */
export class SessionRestorer {
  /** Works on the tables of `core`. */
  constructor(
    private readonly core: Core,
    private readonly options: SessionRestorerOptions,
  ) {}

  /** Serves a call for a lost session: it follows once that is restored. */
  async serve(call: Call, owner: Session): Promise<void> {
    const { request } = call;
    // A notification is about something that has ended with the agent.
    if (request === undefined) return;
    if (!isClosing(call)) {
      await this.#begin(owner, owner.lost!, call);
      return;
    }
    this.core.sessions.giveUp(owner);
    this.core.answer(call, resultLine(request.id, '{}'));
  }

  async #begin(owner: Session, lost: AgentSession, call: Call): Promise<void> {
    const { editorId } = owner;
    const isOffered = (each: string): boolean =>
      offers(lost.child.hello?.capabilities, editorMethods[each]!.capability!);
    const method = owner.isUnused === true ? 'session/new' : reopeners.find(isOffered);
    if (method === undefined) {
      const text = `agent "${this.options.agent}" has ended and cannot reopen sessions: start a new one`;
      throw new CaiError('SESSION_UNKNOWN', text, { sessionId: editorId });
    }
    if (!owner.wait(call))
      throw new CaiError('AGENT_STALLED', `too much waits for session ${editorId} to be restored`);
    await this.core.sessions.hold(editorId, async () => {
      const restore: Restore = { lost, method, isOver: false };
      owner.endRestore = (closing) => this.#close(owner, restore, closing);
      const failure = await this.#restore(restore).catch((reason: unknown): Failure => ({
        reason: this.#failureOf(reason),
      }));
      if (restore.isOver) return;
      owner.endRestore = undefined;
      if (failure !== undefined) for (const each of owner.takeWaiting(isForAgent)) this.#fail(each, failure);
    });
  }

  /**
   * The editor closes the session meanwhile: what waits fails, except `session/delete`. What the agent still says of
   * the session is dropped.
   */
  #close(owner: Session, restore: Restore, call: Call): void {
    const { editorId } = owner;
    restore.isOver = true;
    owner.endRestore = undefined;
    const reason = new CaiError('SESSION_LOST', `session ${editorId} was closed while it was being restored`);
    restore.giveUp?.(reason);
    if (restore.session !== undefined) this.#leave(restore.session, restore, call);
    const waiting = owner.takeWaiting(() => true);
    this.core.sessions.drop(owner);
    if (call.request !== undefined) this.core.answer(call, resultLine(call.request.id, '{}'));
    for (const each of waiting) {
      if (each.row.route === 'delete') this.core.sessions.room.serve(each);
      else this.core.fail(each, reason);
    }
  }

  /** The agent is told, if it has heard of the session and is there to be told. */
  #leave(session: AgentSession, { request }: Restore, { row }: Call): void {
    const { child, agentId } = session;
    const { sessions } = this.core;
    // One that is made anew has no id yet.
    const isNamed = sessions.of(child).byAgentId.get(agentId) === session;
    sessions.close(session);
    const isKnown = isNamed && child.state === 'ready' && request?.targets.length === 1;
    if (isKnown && offers(child.hello?.capabilities, 'sessionCapabilities.close'))
      child.ask('session/close', JSON.stringify({ sessionId: agentId })).catch(() => undefined);
    if (row.route === 'end' && sessions.of(child).isEmpty) void child.stop(patientStop);
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
  async #restore(restore: Restore): Promise<Failure | undefined> {
    const { owner } = restore.lost;
    const settings = owner.settings.all();
    for (let attempt = 1; ; attempt++) {
      const { session, failure } = await this.#reopen(restore);
      if (failure === undefined) {
        for (const setting of settings) {
          // The agent may have said meanwhile what it begins with.
          const onSet = (): void => owner.settings.keep(setting);
          // One that does not answer is not waited for again and again.
          if (restore.isOver || !(await setAgain(session, setting, this.core.log, onSet))) break;
        }
        if (restore.isOver || owner.open === session) return undefined;
      } else if (failure.reason.code !== 'AGENT_EXITED') {
        return failure;
      }
      // The agent has ended over it. Another one is started later, if there is to be one.
      const { isGivenUp, endReason } = session.child;
      if (isGivenUp || attempt >= this.options.attempts) {
        for (const setting of settings) owner.settings.keep(setting);
        return failure ?? { reason: endReason ?? this.#lost('has ended again') };
      }
      const about = { attempt, ...(endReason && loggedFailure(endReason)) };
      this.core.log.warn(about, 'session not restored: tried again');
    }
  }

  async #reopen(restore: Restore): Promise<Reopened> {
    const { lost, method } = restore;
    const call = reopeningCall(lost, method);
    restore.request = call.request!;
    const givenUp = new Promise<Restored>((resolve) => {
      restore.giveUp = (failure) => {
        call.request!.isCancelled = true;
        resolve({ session: restore.session ?? lost, failure });
      };
    });
    let setReady = (): void => undefined;
    const ready = new Promise<void>((resolve) => (setReady = resolve));
    const opened = this.options.opener.restore(call, lost, (session) => {
      restore.session = session;
      session.child.whenReady({ bytes: 0, run: setReady, onFailure: () => undefined });
    });
    const over = Promise.race([opened, givenUp]);
    await Promise.race([ready, over]);
    const restored = (await within(this.options.limitMs, over)) ?? this.#giveUp(restore);
    const { session, failure } = restored;
    if ('failure' in restored) return { session, failure: this.#refusal(session.child, failure) };
    if (session.owner.state === 'restoring') await session.owner.settleQuiet(session, this.options.limitMs);
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

/** Whether a call ends its session at the agent. */
export function isClosing({ row }: Call): boolean {
  return row.route === 'close' || row.route === 'end';
}

/** A session need not be restored to be closed, and what opens it does so itself. */
function isForAgent({ row, request }: Call): boolean {
  return request === undefined || !['close', 'end', 'delete', 'open'].includes(row.route);
}
