/**
 * Sessions whose agent has ended are restored when they are used next: in a new agent, by a call of our own
 * in the words of the one that opened them. What the user has sent meanwhile follows, once, in its order.
 */
import { ask } from '../../child/own-requests';
import { loggedFailure } from '../../../agent/agent-end';
import { patientStop } from '../../../agent/process-end';
import { CaiError, messageOf, rpcCode } from '../../../errors';
import { newOwnId, requestLine, resultLine } from '../../../rpc/answer';
import { wantedIn } from '../../../rpc/json';
import { bodyOf, fieldOf, scanCall, type Message } from '../../../rpc/message';
import { editedText, joined, replacing, type Edit } from '../../../rpc/splice';
import type { Core } from '../../relay/core';
import { passOn } from '../../relay/on-behalf';
import { editorMethods } from '../../../rpc/protocol/methods';
import { isAgentError, textOfError } from '../../../rpc/protocol/agent-errors';
import { offers, reopenerOf } from '../../../rpc/protocol/capabilities';
import type { Call } from '../../sessions/editor-call';
import type { AgentSession, Session } from '../../sessions/session';
import type { EditorRequest } from '../../sessions/request-table';
import type { Setting } from '../../sessions/session-settings';
import { tellState, type Restored, type SessionOpener } from './open';
import type { ProxyOptions } from '../../proxy-options';
import { within } from '../../../system/time-limit';

/** How long a mode or an option may take to be set again, in milliseconds. */
const settingMs = 10_000;
const serversPlan = wantedIn({ mcpServers: 'mcpServers' });

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

export class SessionRestorer {
  constructor(
    private readonly core: Core,
    private readonly opener: SessionOpener,
    private readonly options: ProxyOptions,
  ) {}

  /** Serves a call for a lost session: it follows once that is restored. */
  async serve(call: Call, owner: Session): Promise<void> {
    const { editorId } = owner;
    const lost = owner.lost!;
    // A notification is about something that has ended with the agent.
    if (call.request === undefined) return;
    if (isClosing(call)) {
      this.core.sessions.giveUp(owner);
      this.core.answer(call, resultLine(call.request.id, '{}'));
      return;
    }
    const method = owner.isUnused === true ? 'session/new' : reopenerOf(lost.child.hello?.capabilities);
    if (method === undefined) {
      const text = `agent "${this.options.agent.name}" has ended and cannot reopen sessions: start a new one`;
      throw new CaiError('SESSION_UNKNOWN', text, { sessionId: editorId });
    }
    if (!owner.wait(call)) throw owner.crowded(call);
    await this.core.sessions.hold(editorId, async () => {
      const restore: Restore = { lost, method, isOver: false };
      owner.endRestore = (closing) => this.#close(owner, restore, closing);
      const { session, failure } = await this.#restore(restore).catch((reason: unknown): Restored => {
        if (!(reason instanceof CaiError)) this.core.log.error({ err: reason }, 'internal error');
        const failed = reason instanceof CaiError ? reason : new CaiError('SESSION_LOST', messageOf(reason));
        return { session: lost, failure: failed };
      });
      if (restore.isOver) return;
      owner.endRestore = undefined;
      if (failure === undefined) return;
      for (const each of owner.takeWaiting(isForAgent)) this.#fail(each, session, failure);
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
      if (each.row.route === 'delete') this.core.serveAgain(each);
      else this.core.fail(each, reason);
    }
  }

  /** The agent is told, if it has heard of the session and is there to be told. */
  #leave(session: AgentSession, { request }: Restore, { row }: Call): void {
    const { child, agentId } = session;
    const { sessions } = this.core;
    // One that is made again has no id yet.
    const isNamed = sessions.of(child).byAgentId.get(agentId) === session;
    sessions.close(session);
    const isKnown = isNamed && child.state === 'ready' && request?.targets.length === 1;
    if (isKnown && offers(child.hello?.capabilities, 'sessionCapabilities.close'))
      ask(child, 'session/close', JSON.stringify({ sessionId: agentId })).catch(() => undefined);
    if (row.route === 'end' && sessions.of(child).isEmpty) void child.stop(patientStop);
  }

  /** A need to sign in is for the editor to see as the agent has told it. */
  #fail(call: Call, { child }: AgentSession, failure: CaiError | Message): void {
    try {
      if (failure instanceof CaiError) this.core.fail(call, failure);
      else if (isAgentError(failure, rpcCode.authRequired)) passOn(this.core, child, call, failure);
      else
        this.core.fail(
          call,
          this.#lost(`could not restore the session: ${textOfError(bodyOf(failure))}. Start a new one`),
        );
    } catch (bug) {
      // The others get theirs.
      this.core.fail(call, bug);
    }
  }

  /** Resolves when the session is open and as it was, or with what has failed. */
  async #restore(restore: Restore): Promise<Restored> {
    const { owner } = restore.lost;
    const settings = owner.settings.all();
    for (let attempt = 1; ; attempt++) {
      const { session, failure } = await this.#reopen(restore);
      if (failure === undefined) {
        // An agent that does not answer is not waited for again and again.
        for (const setting of settings)
          if (restore.isOver || !(await this.#setAgain(session, setting))) break;
        if (restore.isOver || owner.atAgent === session) return { session };
      } else if (!(failure instanceof CaiError) || failure.code !== 'AGENT_EXITED') {
        return { session, failure };
      }
      // The agent has ended over it. Another one is started later, if there is to be one.
      const { isGivenUp, endReason } = session.child;
      if (isGivenUp || attempt >= this.options.config.restart.attempts) {
        for (const setting of settings) owner.settings.keep(setting);
        return { session, failure: failure ?? endReason ?? this.#lost('has ended again') };
      }
      const about = { attempt, ...(endReason && loggedFailure(endReason)) };
      this.core.log.warn(about, 'session not restored: tried again');
    }
  }

  async #reopen(restore: Restore): Promise<Restored> {
    const { lost, method } = restore;
    const { agent, config } = this.options;
    const limitMs = config.acp.startTimeoutMs;
    const call = reopeningCall(lost, method);
    const request = (restore.request = call.request!);
    const givenUp = new Promise<Restored>((resolve) => {
      restore.giveUp = (failure) => {
        request.isCancelled = true;
        resolve({ session: restore.session ?? lost, failure });
      };
    });
    let setReady = (): void => undefined;
    const ready = new Promise<void>((resolve) => (setReady = resolve));
    const opened = this.opener.restore(call, lost, (session) => {
      restore.session = session;
      session.child.whenReady({ bytes: 0, run: setReady, onFailure: setReady });
    });
    const over = Promise.race([opened, givenUp]);
    await Promise.race([ready, over]);
    if ((await within(limitMs, over)) === undefined) {
      // The session is as lost as before.
      this.core.sessions.lose(restore.session!);
      const text = `agent "${agent.name}" did not restore the session in ${limitMs / 1_000} s: try again, or start a new one`;
      restore.giveUp?.(new CaiError('AGENT_TIMEOUT', text));
    }
    const { session, failure } = await over;
    if (failure === undefined && session.owner.state === 'restoring')
      await session.owner.settleQuiet(session, limitMs);
    return { session, failure };
  }

  /**
   * Sets something again in a session, and tells the editor, which the agent may have told of what it begins with.
   * What the agent does not want is only logged. False: it has not answered.
   */
  async #setAgain(session: AgentSession, setting: Setting): Promise<boolean> {
    const { child, agentId, owner } = session;
    const { log } = this.core;
    const { method, params } = setting;
    const text = JSON.stringify({ ...params, sessionId: agentId });
    const failed = (reason: string): void => log.warn({ method, reason }, 'could not be set again');
    const onAnswer = (answer: Message): void => {
      if (answer.isError) {
        failed('the agent refused it');
      } else {
        tellState(this.core, session, answer, method === 'session/set_mode' ? params.modeId : undefined);
        // The agent may have said meanwhile what it begins with.
        owner.settings.keep(setting);
      }
    };
    try {
      if ((await within(settingMs, ask(child, method, text, { onAnswer }))) !== undefined) return true;
      failed(`no answer in ${settingMs / 1_000} s`);
      return false;
    } catch (reason) {
      failed((reason as CaiError).code);
      return true;
    }
  }

  #lost(what: string): CaiError {
    return new CaiError('SESSION_LOST', `agent "${this.options.agent.name}" ${what}`);
  }
}

/**
 * The call that opened a session, which must be known, as one by which `method` reopens it or, as `session/new`, makes
 * it again. It is no request of the editor, but has the editor's own bytes.
 */
function reopeningCall({ editorId, openParams }: AgentSession, method: string): Call {
  const id = newOwnId();
  const row = editorMethods[method]!;
  const plan = wantedIn(row.params);
  const read = (params: string): Message => scanCall(joined(requestLine(id, method, params)), plan);
  const opened = read(openParams!);
  const named = fieldOf(opened, 'session');
  const { line, bodyStart, bodyEnd } = opened;
  const name = JSON.stringify(editorId);
  const first = (text: string): Edit => ({ start: bodyStart + 1, end: bodyStart + 1, text });
  const edits: Edit[] = [];
  if (named !== undefined) edits.push(replacing(named, name));
  else if (method !== 'session/new') edits.push(first(`"sessionId":${name},`));
  // Of all calls that name a session, only this one must have them. Source: ACP v1, `LoadSessionRequest`.
  if (method === 'session/load' && fieldOf(scanCall(line, serversPlan), 'mcpServers') === undefined)
    edits.push(first('"mcpServers":[],'));
  const message = read(editedText(line, bodyStart, bodyEnd, edits));
  return { message, row, request: { id, targets: [], isCancelled: false, isOurs: true } };
}

/** Whether a call ends its session at the agent. */
export function isClosing({ row }: Call): boolean {
  return row.route === 'close' || row.route === 'end';
}

/** A session need not be restored to be closed, and what opens it does so itself. */
function isForAgent({ row, request }: Call): boolean {
  return request === undefined || !['close', 'end', 'delete', 'open'].includes(row.route);
}
