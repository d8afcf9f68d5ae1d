/**
 * `cursor/ask_question`, `cursor/create_plan` and `cursor/update_todos` of Cursor's ACP agent, which waits for their
 * answers. An editor that has not announced them would answer with an error, or never. So it is asked in words of ACP:
 * by a form or a permission, and with a plan. Every request is answered, at the latest when its turn ends.
 */
import { randomUUID } from 'node:crypto';
import type { WorkspaceChild } from '../child/workspace-child';
import { offers } from '../../rpc/protocol/refusals';
import type { AgentCall } from '../relay/call';
import type { Core } from '../relay/core';
import { cancelLine, updateLine, requestLine, resultLine } from '../../rpc/answer';
import { bodyOf, type Message } from '../../rpc/message';
import type { SessionObserver } from '../sessions/observer';
import type { AgentSession, Session } from '../sessions/session';
import { firstText, shapeOf, type Shape } from '../../cursor/output/shapes';
import { Todos } from '../../cursor/output/todos';
import * as forms from './forms';
import { unlessFails } from '../../system/unless';

/** What each request is answered in place of an editor that is gone, JSON text. */
export const answersForNobody: Readonly<Record<string, string>> = {
  'cursor/ask_question': forms.resultOf(forms.cancelledOutcome),
  'cursor/create_plan': forms.resultOf(forms.cancelledOutcome),
  'cursor/update_todos': forms.resultOf({ outcome: 'accepted' }),
};

/** Calls of the editor after which it is asked nothing more in a turn. */
const endings: ReadonlySet<string> = new Set(['session/cancel', 'session/close', 'session/delete']);
const maxOpen = 8;

/** A request of an agent that is not answered yet. */
interface OpenRequest {
  readonly child: WorkspaceChild;
  /** The agent's id for it, JSON text. */
  readonly childId: string;
  readonly session: AgentSession;
  /** The id of what the editor is asked at the time, JSON text. */
  editorId?: string;
}

export class CursorRequests implements SessionObserver {
  readonly #open = new Set<OpenRequest>();
  /** Sessions that are at a turn, in the order in which these began. */
  readonly #turns = new Set<AgentSession>();
  readonly #todos = new WeakMap<Session, Todos>();

  constructor(
    private readonly core: Pick<Core, 'editorCapabilities' | 'isEditorGone' | 'log' | 'requests'>,
  ) {}

  /** Serves one of the three methods, as a request or a notification. */
  serve({ child, message, session: named }: Pick<AgentCall, 'child' | 'message' | 'session'>): void {
    const params = shapeOf(unlessFails(() => bodyOf(message)));
    const { method, id: childId } = message;
    // Cursor does not name the session. The last one to begin a turn is asked if several are at one.
    const session = named ?? [...this.#turns].findLast((each) => each.child === child);
    if (method === 'cursor/update_todos' && session !== undefined)
      this.#plan(session, params.todos, params.merge === true);
    if (childId === undefined) return;
    const isBusy = [...this.#open].filter((each) => each.child === child).length >= maxOpen;
    if (method === 'cursor/update_todos' || session === undefined || isBusy || this.core.isEditorGone) {
      child.answer(resultLine(childId, answersForNobody[method]!));
      return;
    }
    const open: OpenRequest = { child, childId, session };
    this.#open.add(open);
    this.core.log.info({ method, root: child.root }, 'the editor is asked in words of ACP');
    const outcome =
      method === 'cursor/create_plan' ? this.#createPlan(open, params) : this.#askAll(open, params);
    void outcome
      .catch((reason: unknown) => {
        this.core.log.error({ err: reason }, 'internal error');
        return forms.cancelledOutcome;
      })
      .then((result) => {
        this.#open.delete(open);
        child.answer(resultLine(childId, forms.resultOf(result)));
      });
  }

  /** The agent takes a request back, by its id as JSON text; false if no such request is open. */
  cancel(child: WorkspaceChild, childId: string): boolean {
    return this.#takeBack((open) => open.child === child && open.childId === childId);
  }

  forget(child: WorkspaceChild): void {
    this.#takeBack((open) => open.child === child);
  }

  /** A prompt begins a turn; a cancel or a close ends its questions, and there are no more: the agent may wait for them. */
  onCall(session: AgentSession, { kind, method }: Message): void {
    if (endings.has(method)) this.onClose(session);
    if (method !== 'session/prompt' || kind !== 'request') return;
    this.#turns.delete(session);
    this.#turns.add(session);
  }

  onPromptOver(session: AgentSession): void {
    if (!session.child.requests.turns.has(session)) this.onClose(session);
  }

  onClose(session: AgentSession): void {
    this.#turns.delete(session);
    this.#takeBack((open) => open.session === session);
  }

  #takeBack(isMeant: (open: OpenRequest) => boolean): boolean {
    const meant = [...this.#open].filter(isMeant);
    for (const { session, editorId } of meant) {
      if (editorId === undefined) continue;
      this.#tell(session, cancelLine(editorId));
      this.core.requests.settleOwn(editorId);
    }
    return meant.length > 0;
  }

  /** All questions in one form, or one permission after the other. */
  async #askAll(open: OpenRequest, params: Shape): Promise<Shape> {
    const questions = forms.questionsOf(params);
    if (questions.length === 0) return forms.skipped('no question has a text and options');
    if (offers(this.core.editorCapabilities, 'elicitation.form')) {
      const form = forms.formOf(firstText(params.title), questions);
      const answer = await this.#ask(open, 'elicitation/create', form);
      return answer === undefined ? forms.cancelledOutcome : forms.outcomeOfForm(answer, questions);
    }
    const choices: forms.Choice[] = [];
    for (const question of questions) {
      const { permissions, ids } = forms.optionsOf(question);
      const optionId = await this.#permission(open, question.text, firstText(params.title), permissions);
      if (optionId === undefined) return forms.cancelledOutcome;
      const id = ids.get(optionId);
      choices.push({ questionId: question.id, selectedOptionIds: id === undefined ? [] : [id] });
    }
    return forms.answered(choices);
  }

  async #createPlan(open: OpenRequest, params: Shape): Promise<Shape> {
    const { title, text } = forms.planOf(params);
    const optionId = await this.#permission(open, title, text, forms.planOptions);
    if (optionId === undefined) return forms.cancelledOutcome;
    if (optionId !== 'accept') return { outcome: 'rejected', reason: 'the user has rejected the plan' };
    if (Array.isArray(params.todos)) this.#plan(open.session, params.todos, false);
    return { outcome: 'accepted' };
  }

  /** Asks for a choice, in its own tool call. Resolves with its id; undefined: nothing was chosen. */
  async #permission(
    open: OpenRequest,
    title: string,
    text: string | undefined,
    options: readonly Shape[],
  ): Promise<string | undefined> {
    const toolCallId = `cai-${randomUUID()}`;
    const content = text === undefined ? [] : [{ type: 'content', content: { type: 'text', text } }];
    const toolCall = { toolCallId, title, kind: 'think', status: 'pending', content };
    // Not all editors take the call in the request for an announcement, and updates are of calls that were announced.
    this.#update(open.session, { sessionUpdate: 'tool_call', ...toolCall });
    const answer = await this.#ask(open, 'session/request_permission', { toolCall, options });
    const { outcome, optionId } = shapeOf(answer?.outcome);
    const chosen = outcome === 'selected' ? firstText(optionId) : undefined;
    const status = chosen === undefined ? 'failed' : 'completed';
    this.#update(open.session, { sessionUpdate: 'tool_call_update', toolCallId, status });
    return chosen;
  }

  /** Resolves with the result; undefined if no result comes. */
  async #ask(open: OpenRequest, method: string, params: Shape): Promise<Shape | undefined> {
    const { session } = open;
    const answer = await new Promise<Shape | undefined>((resolve) => {
      open.editorId = this.core.requests.newEditorId((message) => {
        delete open.editorId;
        const hasResult = message !== undefined && !message.isError;
        resolve(hasResult ? shapeOf(unlessFails(() => bodyOf(message))) : undefined);
      });
      const text = JSON.stringify({ sessionId: session.editorId, ...params });
      this.#tell(session, requestLine(open.editorId, method, text));
    });
    return answer;
  }

  #plan(session: AgentSession, todos: unknown, merge: boolean): void {
    const known = this.#todos.get(session.owner) ?? new Todos();
    this.#todos.set(session.owner, known);
    this.#update(session, { sessionUpdate: 'plan', entries: known.update(todos, merge) });
  }

  /** Tells the thread of a session, unless the editor has closed the session. */
  #update(session: AgentSession, update: Shape): void {
    const { child, editorId: sessionId, owner } = session;
    if (owner.openPlace === undefined && child.isUsable) return;
    this.#tell(session, updateLine(sessionId, JSON.stringify(update)));
  }

  #tell({ child }: AgentSession, line: Buffer): void {
    if (!this.core.isEditorGone) child.deliver(line);
  }
}
