/** Requests of our own to children on behalf of a call of the editor, as where several children serve it. */
import { ask } from '../child/own-requests';
import type { CaiError } from '../../errors';
import { wantedIn } from '../../rpc/json';
import type { Message } from '../../rpc/message';
import { splice } from '../../rpc/splice';
import { offers } from '../../rpc/protocol/capabilities';
import { cancelled, notOffered } from '../../rpc/protocol/refusals';
import type { Child } from '../child/child';
import type { Call } from '../sessions/editor-call';
import { answerEdits } from './answer-edits';
import type { Core } from './core';

/**
 * Asks a child on behalf of a call, with params of our own (JSON text). Resolves with its answer, its
 * fields those of the call's method, or with why there is no answer.
 */
export async function askFor(
  child: Child,
  { message, row, request }: Call,
  params: string | undefined,
): Promise<Message | CaiError> {
  const { method } = message;
  const about = { resultPlan: wantedIn(row.result), editorId: request!.id };
  const check = (childId: string): CaiError | undefined => {
    if (request!.isCancelled) return cancelled();
    if (row.capability !== undefined && !offers(child.hello?.capabilities, row.capability))
      return notOffered(method);
    request!.targets.push({ child, childId });
    return undefined;
  };
  return await ask(child, method, params, about, check).catch((reason: unknown) => reason as CaiError);
}

/** Answers a request of the editor with a child's answer to a request of ours, fields untouched. */
export function passOn(core: Core, child: Child, call: Call, answer: Message): void {
  const id = call.request?.id ?? 'null';
  const edit = { start: answer.idStart, end: answer.idEnd, text: id };
  core.answer(call, splice(answer.line, [edit, ...answerEdits(core, child, answer, call)]), child.lane);
}
