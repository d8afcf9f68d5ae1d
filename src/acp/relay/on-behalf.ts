/** Requests of our own to children on behalf of a call of the editor, as where several children serve it. */
import type { CaiError } from '../../errors';
import { newOwnId, requestLine } from '../../rpc/answer';
import { planOf } from '../../rpc/json';
import type { Message } from '../../rpc/message';
import { splice } from '../../rpc/splice';
import { cancelled, notOffered, offers } from '../../rpc/protocol/refusals';
import type { WorkspaceChild } from '../child/workspace-child';
import type { Call } from '../sessions/call';
import type { Core } from './core';

/**
 * Asks a child on behalf of a call, with params of our own (JSON text). Resolves with its answer, its
 * fields those of the call's method, or with why there is none.
 */
export function ask(
  child: WorkspaceChild,
  call: Call,
  params: string | undefined,
): Promise<Message | CaiError> {
  const { row } = call;
  const { method } = call.message;
  const request = call.request!;
  return new Promise((resolve) => {
    const run = (): void => {
      if (request.isCancelled) {
        resolve(cancelled());
      } else if (row.capability !== undefined && !offers(child.hello?.capabilities, row.capability)) {
        resolve(notOffered(method));
      } else {
        const childId = newOwnId();
        request.targets.push({ child, childId });
        child.request(childId, requestLine(childId, method, params), {
          method,
          resultPlan: planOf(row.result),
          editorId: request.id,
          onAnswer: resolve,
          onFailure: resolve,
        });
      }
    };
    child.whenReady({ bytes: call.message.line.length, run, onFailure: resolve });
  });
}

/** Answers a request of the editor with a child's answer to a request of ours, fields untouched. */
export function passOn(core: Core, child: WorkspaceChild, call: Call, answer: Message): void {
  const id = call.request?.id ?? 'null';
  const edit = { start: answer.idStart, end: answer.idEnd, text: id };
  core.answer(call, splice(answer.line, [edit, ...core.signInEdits(child, answer, call)]), child.lane);
}
