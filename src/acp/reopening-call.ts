import { requestLine } from '../rpc/answer';
import { fieldOf, scanCall } from '../rpc/scan';
import type { Message } from '../rpc/scan';
import { cut, joined } from '../rpc/splice';
import { newOwnId } from '../session/own-id';
import type { Session } from '../session/workspace-child';
import type { Call } from './call';
import type { Core } from './core';
import { editorMethods } from './methods';

/**
 * The call that opened a session, which must be known, as one by which `method` reopens it. It is no request of
 * the editor, but has the editor's own bytes.
 */
export function reopeningCall(core: Core, { editorId, opening }: Session, method: string): Call {
  const id = newOwnId();
  const row = editorMethods[method]!;
  const plan = core.planOf(row.params);
  const read = (params: string): Message => scanCall(joined(requestLine(id, method, params)), plan);
  const opened = read(opening!);
  const named = fieldOf(opened, 'session');
  const { line, bodyStart, bodyEnd } = opened;
  const name = JSON.stringify(editorId);
  const edit =
    named === undefined
      ? { start: bodyStart + 1, end: bodyStart + 1, text: `"sessionId":${name},` }
      : { start: named.start, end: named.end, text: name };
  const message = read(cut(line, bodyStart, bodyEnd, [edit]));
  return { message, row, request: { id, method, targets: [], isCancelled: false, isOurs: true } };
}
