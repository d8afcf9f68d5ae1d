/**
 * What we ask the user of an editor, each question in the turn of a session: from a prompt until the session has no prompt
 * open, or is cancelled or closed. Then what is open is taken back.
 */
import { randomUUID } from 'node:crypto';
import type { JsonObject } from '../../rpc/json';
import type { Child } from '../child/child';
import type { Core } from '../relay/core';
import { cancelLine, notificationLine, requestLine } from '../../rpc/answer';
import { bodyOf, type Message } from '../../rpc/message';
import type { SessionObserver } from '../sessions/observer';
import type { AgentSession } from '../sessions/session';
import { objectOf, unlessFails } from '../../system/unless';

/** Calls of the editor after which it is asked nothing more in a turn: its agent may wait for the answer. */
const endings: ReadonlySet<string> = new Set(['session/cancel', 'session/close', 'session/delete']);

export class Turn {
  /** Ids of the questions that are open in it, JSON texts. */
  readonly open = new Set<string>();

  constructor(readonly session: AgentSession) {}
}

export class OwnQuestions<T extends Turn> implements SessionObserver {
  /** In the order in which they began. */
  readonly #turns = new Map<AgentSession, T>();

  /** `mark`: what the params of each message have besides. */
  constructor(
    private readonly editor: Pick<Core, 'isEditorGone' | 'requests'>,
    private readonly newTurn: new (session: AgentSession) => T,
    private readonly mark: JsonObject = {},
  ) {}

  /** It may also be called for a session that was at no turn. */
  protected onTurnOver?(session: AgentSession): void;

  /** The turns of an agent's sessions, the last to begin first. */
  protected turnsOf(child: Child): T[] {
    return [...this.#turns.values()].filter(({ session }) => session.child === child).reverse();
  }

  /** A prompt begins a turn, or goes on with it. */
  onCall(session: AgentSession, { kind, method }: Message): void {
    if (endings.has(method)) this.#end(session);
    if (method !== 'session/prompt' || kind !== 'request') return;
    const turn = this.#turns.get(session) ?? new this.newTurn(session);
    this.#turns.delete(session);
    this.#turns.set(session, turn);
  }

  /** The last prompt ends the turn, and its questions before the editor gets the answer. */
  onPromptOver(session: AgentSession): void {
    if (!session.child.requests.turns.has(session)) this.#end(session);
  }

  onClose(session: AgentSession): void {
    this.#end(session);
  }

  #end(session: AgentSession): void {
    const turn = this.#turns.get(session);
    this.#turns.delete(session);
    if (turn !== undefined) this.takeBack(turn);
    this.onTurnOver?.(session);
  }

  /** Ends the questions that are open in a turn, or only the one with that id, as if nobody had answered. */
  protected takeBack({ session, open }: Turn, only?: string): void {
    for (const id of [...open].filter((each) => each === (only ?? each))) {
      this.#tell(session, cancelLine(id));
      this.editor.requests.settleOwn(id);
    }
  }

  /** Returns the question's id, JSON text. `onAnswer` is called once, as of `RequestTable.newEditorId`. */
  protected askInTurn(
    { session, open }: Turn,
    method: string,
    params: JsonObject,
    onAnswer: (answer: Message | undefined) => void,
  ): string {
    const id = this.editor.requests.newEditorId((answer) => {
      open.delete(id);
      onAnswer(answer);
    });
    open.add(id);
    const text = JSON.stringify({ sessionId: session.editorId, ...params, ...this.mark });
    this.#tell(session, requestLine(id, method, text));
    return id;
  }

  /**
   * Asks for a choice, in a tool call of its own. `onAnswer` gets the id of the option that was chosen, if one was, and
   * returns whether the call is completed.
   */
  protected askPermission(
    turn: Turn,
    about: JsonObject,
    options: readonly JsonObject[],
    onAnswer: (chosen: string | undefined, answer: Message | undefined) => boolean,
  ): string {
    const toolCallId = `cai-${randomUUID()}`;
    const toolCall = { toolCallId, ...about, status: 'pending' };
    // Not all editors take the call in the request for an announcement, and updates are of calls that were announced.
    this.update(turn.session, { sessionUpdate: 'tool_call', ...toolCall });
    return this.askInTurn(turn, 'session/request_permission', { toolCall, options }, (answer) => {
      const status = onAnswer(chosenIn(answer), answer) ? 'completed' : 'failed';
      this.update(turn.session, { sessionUpdate: 'tool_call_update', toolCallId, status });
    });
  }

  /** Tells the thread of a session, unless the editor has closed the session. */
  protected update(session: AgentSession, update: JsonObject): void {
    const { child, editorId: sessionId, owner } = session;
    if (owner.atAgent === undefined && child.isUsable) return;
    const params = JSON.stringify({ sessionId, update, ...this.mark });
    this.#tell(session, notificationLine('session/update', params));
  }

  #tell({ child }: AgentSession, line: Buffer): void {
    if (!this.editor.isEditorGone) child.deliver(line);
  }
}

/** The result of an answer; an empty one where none can be read. */
export function resultIn(answer: Message | undefined): JsonObject {
  return objectOf(answer?.isError === false ? unlessFails(() => bodyOf(answer)) : undefined);
}

/** Source: ACP v1, `RequestPermissionOutcome`. */
function chosenIn(answer: Message | undefined): string | undefined {
  const { outcome, optionId } = objectOf(resultIn(answer).outcome);
  return outcome === 'selected' && typeof optionId === 'string' ? optionId : undefined;
}
