/**
 * Sessions end here: `session/close`, `session/delete`, and `session/end`, for clients written before ACP had
 * `session/close`.
 */
import { ask } from '../child/own-requests';
import { existsSync } from 'node:fs';
import type { Host } from '../../system/host';
import { patientStop } from '../../agent/process-end';
import { loggedFailure } from '../../agent/agent-end';
import { CaiError, rpcCode } from '../../errors';
import { resultLine } from '../../rpc/answer';
import type { SessionRecord } from '../sessions/session-record';
import type { Child } from '../child/child';
import type { AgentSession } from '../sessions/session';
import { quoted } from '../../system/quoted';
import { findWorkspace } from '../../workspace/root';
import { recordedRoots } from '../../workspace/records';
import type { Children } from '../child/children';
import type { Core } from '../relay/core';
import { tellInThread } from '../relay/thread';
import type { Call } from '../sessions/editor-call';
import { isAgentError } from '../../rpc/protocol/agent-errors';
import { offers } from '../../rpc/protocol/capabilities';
import { unknownSession } from '../../rpc/protocol/refusals';
import { within } from '../../system/time-limit';

/** How long a session that is being closed may take to end its turn, in milliseconds. */
const turnEndMs = 5_000;

export class SessionEnder {
  constructor(
    private readonly core: Core,
    private readonly children: Children,
    private readonly host: Host,
  ) {}

  /**
   * `session/close`: the agent's own, where it has it. Where it has not, the turn is cancelled and its end awaited, so
   * that the prompt is answered first. What the agent says of the session afterwards is dropped.
   */
  async close(call: Call, session: AgentSession): Promise<void> {
    const { child, map } = session;
    // Sent in this turn of the event loop where that can be: calls of other sessions must not overtake it either.
    await new Promise<void>((done, onFailure) =>
      child.whenReady({
        bytes: call.message.line.length,
        run: () => {
          const isOffered = offers(child.hello?.capabilities, 'sessionCapabilities.close');
          if (isOffered) {
            this.core.toAgent(child, call, { map, session, onResult: () => this.#drop(session) });
            setTimeout(() => this.#endLate(call, session), turnEndMs).unref();
          }
          (isOffered ? Promise.resolve() : this.#endTurn(call, session)).then(done, onFailure);
        },
        onFailure,
      }),
    );
  }

  /**
   * `session/end`, which ACP does not have: never sent on. As `session/close`; and a child that has lost
   * its last session by it is ended at once.
   */
  async end(call: Call, session: AgentSession): Promise<void> {
    const { child } = session;
    // Calls that wait for the agent's start come first.
    const { length: bytes } = call.message.line;
    await new Promise<void>((run, onFailure) => child.whenReady({ bytes, run, onFailure }));
    if (offers(child.hello?.capabilities, 'sessionCapabilities.close')) {
      const params = JSON.stringify({ sessionId: session.agentId });
      const asked = ask(child, 'session/close', params, { session });
      const failed = (reason: CaiError): void =>
        this.core.log.info(loggedFailure(reason), 'session/close failed');
      const over = asked.catch(failed).then(() => true);
      if ((await within(turnEndMs, over)) === undefined) this.#giveUp(session);
      else this.#drop(session);
      this.#answerEmpty(call);
    } else {
      await this.#endTurn(call, session);
    }
    if (this.core.sessions.isIdle(child)) void child.stop(patientStop);
  }

  /** `session/delete`, also of a session that is not open. One that nobody knows is deleted already. */
  async delete(call: Call, editorId: string): Promise<void> {
    const open = this.core.sessions.find(editorId);
    const record = this.core.sessions.records.recall(editorId);
    const child = open?.child ?? (record && (await this.#childOf(record)));
    if (child === undefined) {
      // Nobody can be asked. What its agent keeps of it goes with the agent's data.
      this.core.sessions.forget(editorId);
      this.#answerEmpty(call);
      return;
    }
    this.core.toAgent(child, call, {
      map: open?.map ?? child.map,
      session: open,
      onResult: () => {
        this.core.sessions.forget(editorId);
        if (open !== undefined) this.#drop(open);
      },
      onNoResult: (reason) => {
        if (open === undefined && isAgentError(reason, rpcCode.resourceNotFound))
          this.core.sessions.forget(editorId);
      },
    });
  }

  /** A call for a session that is not open but remembered, and that its agent can serve all the same. */
  async serveClosed(call: Call, editorId: string): Promise<void> {
    const record = this.recordOf(editorId);
    const child = await this.#childOf(record);
    if (child === undefined) {
      const what = `${call.message.method}: ${quoted(record.root)}, the workspace of the session`;
      const why = 'does not exist, is part of a larger one now, or was never used';
      throw new CaiError('WORKSPACE', `${what}, ${why}: restore it, or delete the session`);
    }
    this.core.toAgent(child, call, { map: child.map });
  }

  /** What is remembered of a session. Fails with `SESSION_UNKNOWN` if that is nothing. */
  recordOf(editorId: string): SessionRecord {
    const record = this.core.sessions.records.recall(editorId);
    if (record === undefined) throw unknownSession(editorId);
    return record;
  }

  /**
   * Undefined where the session's workspace is no longer there, or is another one now, which may hold more: its agent
   * has no part in the session. Nor is one started where the user has never worked: agents choose the folders of what
   * they list.
   */
  async #childOf({ root }: SessionRecord): Promise<Child | undefined> {
    const running = this.children.usable().find((child) => child.root === root);
    if (running !== undefined || !existsSync(root) || !recordedRoots(this.host.folders.state).includes(root))
      return running;
    const workspace = await findWorkspace(root, { host: this.host });
    return workspace.root === root ? this.children.forWorkspace(workspace) : undefined;
  }

  async #endTurn(call: Call, session: AgentSession): Promise<void> {
    this.core.cancelTurn(session);
    const { turns } = session.child.requests;
    await within(turnEndMs, new Promise<void>((resolve) => turns.whenQuiet(session, resolve)));
    if (turns.has(session)) this.#giveUp(session);
    else this.#drop(session);
    this.#answerEmpty(call, session.child);
  }

  /** The agent has got `session/close`: one that has not answered by now is given up. */
  #endLate(call: Call, session: AgentSession): void {
    if (call.request === undefined || !this.core.requests.isWanted(call.request)) return;
    if (session.owner.atAgent !== session || !session.child.isUsable) return;
    this.#answerEmpty(call, session.child);
    this.#giveUp(session);
  }

  /** The agent does not end the session: it is ended itself, unless another session of it is at work. */
  #giveUp(session: AgentSession): void {
    const { core } = this;
    const { child } = session;
    const { byAgentId, openings } = core.sessions.of(child);
    const isAtWork = (each: AgentSession): boolean => each !== session && child.requests.turns.has(each);
    const isNeeded = openings.length > 0 || [...byAgentId.values()].some(isAtWork);
    const what = `agent "${child.name}" did not end the session in ${turnEndMs / 1_000} s`;
    const next = isNeeded ? 'the session was given up' : 'the agent was ended';
    const reason = new CaiError('AGENT_STALLED', `${what}: ${next}`);
    core.log.warn({ root: child.root, reason: reason.message }, 'a session does not end');
    const description = 'Another session of its agent is at work, so the agent goes on.';
    if (isNeeded) tellInThread(core, session, { title: `${reason.message}.`, description });
    child.requests.failAbout(session, reason);
    this.#drop(session);
    if (!isNeeded && child.isUsable) child.abandon(reason, { termAfterMs: 0, killAfterMs: 1_000 });
  }

  #drop(session: AgentSession): void {
    this.core.sessions.close(session);
    this.children.stopWhenIdle(session.child);
  }

  #answerEmpty(call: Call, child?: Child): void {
    if (call.request !== undefined) this.core.answer(call, resultLine(call.request.id, '{}'), child?.lane);
  }
}
