/**
 * `cursor/ask_question`, `cursor/create_plan` and `cursor/update_todos` of Cursor's ACP agent, which waits for their
 * answers. An editor that has not announced them would answer with an error, or never. So it is asked in words of ACP:
 * by a form or a permission, and with a plan. Every request is answered, at the latest when its turn ends.
 */
import type { Child } from '../child/child';
import { offers } from '../../rpc/protocol/capabilities';
import type { AgentCall } from '../relay/agent-call';
import type { Core } from '../relay/core';
import { resultLine } from '../../rpc/answer';
import { bodyOf, type Message } from '../../rpc/message';
import { OwnQuestions, resultIn, Turn } from '../observers/own-questions';
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

const maxOpen = 8;

/** A request of an agent that is not answered yet. */
interface OpenRequest {
  readonly child: Child;
  /** The agent's id for it, JSON text. */
  readonly childId: string;
  readonly turn: Turn;
  /** The id of what the editor was asked last, JSON text; empty before that. */
  editorId: string;
}

export class CursorRequests extends OwnQuestions<Turn> {
  readonly #open = new Set<OpenRequest>();
  readonly #todos = new WeakMap<Session, Todos>();

  constructor(private readonly core: Pick<Core, 'editorCapabilities' | 'isEditorGone' | 'log' | 'requests'>) {
    super(core, Turn);
  }

  /** Serves one of the three methods, as a request or a notification. */
  serve({ child, message, session: named }: Pick<AgentCall, 'child' | 'message' | 'session'>): void {
    const params = shapeOf(unlessFails(() => bodyOf(message)));
    const { method, id: childId } = message;
    // Cursor does not name the session. The last one to begin a turn is asked if several are at one.
    const turn = this.turnsOf(child).find(({ session }) => session === (named ?? session));
    const session = named ?? turn?.session;
    if (method === 'cursor/update_todos' && session !== undefined)
      this.#plan(session, params.todos, params.merge === true);
    if (childId === undefined) return;
    const isBusy = [...this.#open].filter((each) => each.child === child).length >= maxOpen;
    if (method === 'cursor/update_todos' || turn === undefined || isBusy || this.core.isEditorGone) {
      child.answer(resultLine(childId, answersForNobody[method]!));
      return;
    }
    const open: OpenRequest = { child, childId, turn, editorId: '' };
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
  cancel(child: Child, childId: string): boolean {
    const meant = [...this.#open].filter((each) => each.child === child && each.childId === childId);
    for (const { turn, editorId } of meant) this.takeBack(turn, editorId);
    return meant.length > 0;
  }

  /** All questions in one form, or one permission after the other. */
  async #askAll(open: OpenRequest, params: Shape): Promise<Shape> {
    const questions = forms.questionsOf(params);
    if (questions.length === 0) return forms.skipped('no question has a text and options');
    if (offers(this.core.editorCapabilities, 'elicitation.form')) {
      const form = forms.formOf(firstText(params.title), questions);
      const answer = await new Promise<Message | undefined>((resolve) => {
        open.editorId = this.askInTurn(open.turn, 'elicitation/create', form, resolve);
      });
      return forms.outcomeOfForm(resultIn(answer), questions);
    }
    const choices: forms.Choice[] = [];
    for (const question of questions) {
      // The turn may have ended together with the last answer.
      if (!this.turnsOf(open.child).includes(open.turn)) return forms.cancelledOutcome;
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
    if (Array.isArray(params.todos)) this.#plan(open.turn.session, params.todos, false);
    return { outcome: 'accepted' };
  }

  /** Asks for a choice. Resolves with its id; undefined: nothing was chosen. */
  #permission(
    open: OpenRequest,
    title: string,
    text: string | undefined,
    options: readonly Shape[],
  ): Promise<string | undefined> {
    const content = text === undefined ? [] : [{ type: 'content', content: { type: 'text', text } }];
    const about = { title, kind: 'think', content };
    return new Promise((resolve) => {
      open.editorId = this.askPermission(open.turn, about, options, (chosen) => {
        resolve(chosen);
        return chosen !== undefined;
      });
    });
  }

  #plan(session: AgentSession, todos: unknown, merge: boolean): void {
    const known = this.#todos.get(session.owner) ?? new Todos();
    this.#todos.set(session.owner, known);
    this.update(session, { sessionUpdate: 'plan', entries: known.update(todos, merge) });
  }
}
