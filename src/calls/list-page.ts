/** Pages of `session/list`: what an agent is asked with for one, and what the editor gets of it. */
import { fieldOf } from '../rpc/message';
import type { Message } from '../rpc/message';
import { editedText, replacing } from '../rpc/splice';
import type { Edit } from '../rpc/splice';
import type { PathMap } from '../paths/path-map';
import { editsOf, pathsToAgent } from '../relay/rewrite';

/** The call's params for a child, with that child's own cursor, JSON text (`null` for none). */
export function pageParams(message: Message, map: PathMap, cursor = 'null'): string | undefined {
  const edits = editsOf(message, { ...pathsToAgent(map) });
  const ours = fieldOf(message, 'cursor');
  if (ours !== undefined) edits.push(replacing(ours, cursor));
  const { line, bodyStart, bodyEnd } = message;
  return bodyStart < 0 ? undefined : editedText(line, bodyStart, bodyEnd, edits);
}

/** The agent's result with these rows and this cursor (JSON text, `null` for none), and otherwise its own. */
export function pageText(page: Message, rows: readonly string[], cursor: string): string {
  const list = fieldOf(page, 'rows');
  if (list === undefined) return `{"sessions":[${rows.join(',')}],"nextCursor":${cursor}}`;
  const edits: Edit[] = [replacing(list, `[${rows.join(',')}]`)];
  const theirs = fieldOf(page, 'cursor');
  const first = page.bodyStart + 1;
  if (theirs !== undefined) edits.push(replacing(theirs, cursor));
  else if (cursor !== 'null') edits.push({ start: first, end: first, text: `"nextCursor":${cursor},` });
  return editedText(page.line, page.bodyStart, page.bodyEnd, edits);
}
