/**
 * What Cursor's ACP agent asks by methods that only Cursor knows, as an editor can be asked it, and what it is
 * answered. Source: Cursor's page on its command line and ACP, "Cursor extension methods", with the forms that clients
 * for it have recorded: `cursor/ask_question` has `title` and `questions` (`id`, `prompt`, `options` with `id` and
 * `label`, `allowMultiple`), `cursor/create_plan` has `name`, `overview`, `plan` (Markdown) and `todos`; answers are
 * `{outcome: {outcome, ...}}`.
 */
import { firstText, listOf, shapeOf, type Shape } from '../../cursor/output/shapes';

/** One question that can be answered by choosing. */
export interface Question {
  readonly id: string;
  readonly text: string;
  readonly options: readonly { readonly id: string; readonly label: string }[];
  readonly isMultiple: boolean;
}

export interface Choice {
  readonly questionId: string;
  readonly selectedOptionIds: readonly string[];
}

/** How many questions are asked at once, and how many options each may have. */
const maxQuestions = 20;
const maxOptions = 50;

/** Of a request that somebody has taken back, or that nobody can be asked. */
export const cancelledOutcome = { outcome: 'cancelled' } as const;

export function resultOf(outcome: Shape): string {
  return JSON.stringify({ outcome });
}

/** The questions that can be asked; those without text or options are left out. */
export function questionsOf(params: Shape): Question[] {
  return listOf(params.questions)
    .slice(0, maxQuestions)
    .flatMap((each, at) => {
      const { id, prompt, question, options, allowMultiple } = shapeOf(each);
      const text = firstText(prompt, question);
      const choices = listOf(options).slice(0, maxOptions).flatMap(choiceOf);
      if (text === undefined || choices.length === 0) return [];
      return [
        { id: firstText(id) ?? String(at), text, options: choices, isMultiple: allowMultiple === true },
      ];
    });
}

function choiceOf(option: unknown): Question['options'] {
  const { id, label } = shapeOf(option);
  const name = firstText(label, id, option);
  return name === undefined ? [] : [{ id: firstText(id) ?? name, label: name }];
}

/** Params of `elicitation/create` for questions, without the session. Source: ACP v1, elicitation. */
export function formOf(title: string | undefined, questions: readonly Question[]): Shape {
  const properties = questions.map(({ text, options, isMultiple }, at) => {
    const titled = options.map(({ id, label }) => ({ const: id, title: label }));
    const property = isMultiple
      ? { type: 'array', title: text, items: { anyOf: titled } }
      : { type: 'string', title: text, oneOf: titled };
    return [nameOf(at), property] as const;
  });
  return {
    mode: 'form',
    message: title ?? questions[0]?.text ?? '',
    requestedSchema: { type: 'object', properties: Object.fromEntries(properties) },
  };
}

/** The outcome of a form. An option that was not offered is no answer. */
export function outcomeOfForm(answer: Shape, questions: readonly Question[]): Shape {
  if (answer.action === 'decline') return skipped();
  if (answer.action !== 'accept') return cancelledOutcome;
  const content = shapeOf(answer.content);
  return answered(
    questions.map(({ id: questionId, options }, at) => {
      const given = content[nameOf(at)];
      const wanted: readonly unknown[] = Array.isArray(given) ? given : [given];
      const selectedOptionIds = options.map(({ id }) => id).filter((id) => wanted.includes(id));
      return { questionId, selectedOptionIds };
    }),
  );
}

/** The outcome of choices; those without an option are left out. */
export function answered(choices: readonly Choice[]): Shape {
  const answers = choices.filter(({ selectedOptionIds }) => selectedOptionIds.length > 0);
  return answers.length === 0 ? skipped() : { outcome: 'answered', answers };
}

/** The user does not want to answer. */
export function skipped(reason = 'the user has not answered'): Shape {
  return { outcome: 'skipped', reason };
}

/** Properties have names of ours: Cursor's names could be anything. */
function nameOf(at: number): string {
  return `question${at + 1}`;
}

/** What `session/request_permission` offers for a question, with the option that each id stands for. */
export function optionsOf({ options }: Question): { permissions: Shape[]; ids: ReadonlyMap<string, string> } {
  const permissions = options.map(({ label: name }, at) => ({
    optionId: String(at),
    name,
    kind: 'allow_once',
  }));
  const skip = { optionId: 'skip', name: 'Skip this question', kind: 'reject_once' };
  return {
    permissions: [...permissions, skip],
    ids: new Map(options.map(({ id }, at) => [String(at), id])),
  };
}

/** A plan as a thread shows it: a title, and Markdown. */
export function planOf({ name, overview, plan }: Shape): { title: string; text: string } {
  const parts = [overview, plan].filter((part): part is string => firstText(part) !== undefined);
  return { title: firstText(name) ?? 'Plan', text: parts.join('\n\n') || 'The plan is empty.' };
}

export const planOptions: readonly Shape[] = [
  { optionId: 'accept', name: 'Accept the plan', kind: 'allow_once' },
  { optionId: 'reject', name: 'Reject the plan', kind: 'reject_once' },
];
