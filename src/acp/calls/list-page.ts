/** Pages of `session/list`: what an agent is asked for one with, and what the editor gets of it. */
import { fieldOf, type Message } from '../../rpc/message';
import { editedText, replacing, type Edit } from '../../rpc/splice';
import type { PathMap } from '../../system/paths/path-map';
import type { SessionRecord } from '../sessions/session-record';
import { editsOf, pathsToAgent } from '../relay/rewrite';

/** How many pages of one agent a list has: an agent's cursors need never end. */
export const maxPages = 20;

/** The call's params for a child, with that child's own cursor, JSON text (`null` for none). */
export function pageParams(message: Message, map: PathMap, cursor = 'null'): string | undefined {
  const edits = editsOf(message, { ...pathsToAgent(map) });
  const ours = fieldOf(message, 'cursor');
  if (ours !== undefined) edits.push(replacing(ours, cursor));
  const { line, bodyStart, bodyEnd } = message;
  return bodyStart < 0 ? undefined : editedText(line, bodyStart, bodyEnd, edits);
}

/** The agent's result with these rows and this cursor (JSON text, `null` for none); without one, a result of our own. */
export function pageText(page: Message | undefined, rows: readonly string[], cursor: string): string {
  const list = page && fieldOf(page, 'rows');
  const added = cursor === 'null' ? '' : `"nextCursor":${cursor},`;
  if (list === undefined) return `{${added}"sessions":[${rows.join(',')}]}`;
  const { line, bodyStart, bodyEnd } = page!;
  const edits: Edit[] = [replacing(list, `[${rows.join(',')}]`)];
  const theirs = fieldOf(page!, 'cursor');
  if (theirs !== undefined) edits.push(replacing(theirs, cursor));
  else edits.push({ start: bodyStart + 1, end: bodyStart + 1, text: added });
  return editedText(line, bodyStart, bodyEnd, edits);
}

/** A remembered session as a row of a list, JSON text. Source: ACP v1, `SessionInfo`. */
export function rowOf({ id, cwd, title, updatedAt }: SessionRecord): string {
  return JSON.stringify({ sessionId: id, cwd, title, updatedAt });
}
