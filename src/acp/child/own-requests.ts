/** Requests to agents that the editor did not make. */
import { newOwnId, requestLine } from '../../rpc/answer';
import type { Message } from '../../rpc/message';
import type { CaiError } from '../../errors';
import type { ChildRequest } from './child-requests';
import type { Child } from './child';

/** Sends a request to a child at once; `params` is JSON text. */
export function sendOwn(
  child: Child,
  params: string | undefined,
  request: ChildRequest,
  childId = newOwnId(),
): void {
  child.request(childId, requestLine(childId, request.method, params), request);
}

/**
 * Sends a request to a child, once its agent has started; `params` is JSON text. Rejects with a `CaiError` if there is
 * no answer, or with the one that `check` gives just before the request is sent. The promise settles only after all
 * lines that came in the same chunk; `onAnswer` is called before the next line is read.
 */
export function ask(
  child: Child,
  method: string,
  params: string | undefined,
  about: Partial<ChildRequest> = {},
  check?: (childId: string) => CaiError | undefined,
): Promise<Message> {
  return new Promise((resolve, onFailure) => {
    const onAnswer = (answer: Message): void => {
      about.onAnswer?.(answer);
      resolve(answer);
    };
    const run = (): void => {
      const childId = newOwnId();
      const reason = check?.(childId);
      if (reason !== undefined) onFailure(reason);
      else sendOwn(child, params, { ...about, method, onAnswer, onFailure }, childId);
    };
    child.whenReady({ bytes: Buffer.byteLength(params ?? ''), run, onFailure });
  });
}
