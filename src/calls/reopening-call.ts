import { newOwnId, requestLine } from '../rpc/answer';
import { planOf } from '../rpc/json';
import { fieldOf, scanCall } from '../rpc/message';
import type { Message } from '../rpc/message';
import { editedText, joined, replacing } from '../rpc/splice';
import type { Edit } from '../rpc/splice';
import type { AgentSession } from '../sessions/session';
import type { Call } from '../sessions/call';
import { editorMethods } from '../protocol/methods';

const serversPlan = planOf({ mcpServers: 'mcpServers' });

/**
 * The call that opened a session, which must be known, as one by which `method` reopens it or, as `session/new`, makes
 * it anew. It is no request of the editor, but has the editor's own bytes.
 */
export function reopeningCall({ editorId, openParams }: AgentSession, method: string): Call {
  const id = newOwnId();
  const row = editorMethods[method]!;
  const plan = planOf(row.params);
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
  return { message, row, request: { id, method, targets: [], isCancelled: false, isOurs: true } };
}
