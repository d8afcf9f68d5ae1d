/** Pages of `session/list`: what an agent is asked with for one, what the editor gets of it, where a list goes on. */
import { randomUUID } from 'node:crypto';
import type { CaiError } from '../errors';
import { fieldOf } from '../rpc/message';
import type { Message } from '../rpc/message';
import { editedText, replacing } from '../rpc/splice';
import type { Edit } from '../rpc/splice';
import type { PathMap } from '../paths/path-map';
import { editsOf, pathsToAgent } from '../relay/rewrite';
import type { WorkspaceChild } from '../child/workspace-child';
import type { SessionRecord } from '../sessions/session-file';
import type { Workspace } from '../workspace/root';

/** Cursors that are remembered; an editor follows one list at a time. */
const maxCursors = 64;
/** Sessions of which it is remembered that they were listed: for one list, and for all but the last together. */
const maxListed = 100_000;

/**
 * The sessions that were listed, by the editor's ids: children that share a home list the same ones. All positions of
 * a list have the same, with the page on which each came first, since a cursor can be used again.
 */
export class ListedSessions {
  readonly #pages = new Map<string, number>();

  /** How many are remembered. */
  get size(): number {
    return this.#pages.size;
  }

  /** A session stands on that page; too many are not remembered. */
  add(id: string, page: number): void {
    const first = this.#pages.get(id);
    if (first === undefined ? this.size < maxListed : page < first) this.#pages.set(id, page);
  }

  /** Whether a session came before that page. */
  cameBefore(id: string, page: number): boolean {
    return (this.#pages.get(id) ?? page) < page;
  }
}

/** Why a child gave no page: its error, or why there is no answer. */
export interface Failure {
  /** Who was asked. */
  readonly child: WorkspaceChild;
  /** What it answered, or why it did not. */
  readonly reason: Message | CaiError;
}

/** Where a list goes on. */
export interface ListPosition {
  /** The children that are still to be asked, the current one first. */
  readonly children: readonly WorkspaceChild[];
  /** Between the editor's paths and the current child's; the child's own when undefined. */
  readonly map?: PathMap;
  /** The current child's own cursor, JSON text. */
  readonly cursor?: string;
  /** The sessions of all pages so far. */
  readonly listed: ListedSessions;
  /** How many pages came before. */
  readonly page: number;
  /** Workspaces whose children have listed all that they have. */
  readonly answered: ReadonlySet<string | undefined>;
  /** What to answer if there is nothing to list; one that asks for a sign-in comes before others. */
  readonly failure?: Failure | undefined;
  /** The folder that was asked for. */
  readonly folder?: Workspace;
  /** What is remembered, once it is its turn, and how much of it was listed. */
  readonly remembered?: { readonly records: readonly SessionRecord[]; readonly from: number };
}

/** The cursors that the editor has got. */
export class ListCursors {
  readonly #positions = new Map<string, ListPosition>();

  /** The position that a cursor stands for. */
  find(cursor: string): ListPosition | undefined {
    return this.#positions.get(cursor);
  }

  /** The cursor that stands for a position, JSON text; `null` for the end. Older ones may be forgotten. */
  keep(position: ListPosition | undefined): string {
    if (position === undefined) return 'null';
    const cursor = randomUUID();
    this.#positions.set(cursor, position);
    for (const [oldest, { listed }] of this.#positions) {
      const isTooMuch = listed !== position.listed && this.#listedCount() > maxListed;
      if (this.#positions.size > maxCursors || isTooMuch) this.#positions.delete(oldest);
    }
    return JSON.stringify(cursor);
  }

  /** How many sessions are remembered for all lists together. */
  #listedCount(): number {
    const lists = new Set([...this.#positions.values()].map(({ listed }) => listed));
    return [...lists].reduce((sum, { size }) => sum + size, 0);
  }
}

/** The position without what is about its current child alone. */
export function withoutChild(position: ListPosition): Omit<ListPosition, 'children'> {
  const { listed, page, answered, folder, failure } = position;
  return { listed, page, answered, failure, ...(folder !== undefined && { folder }) };
}

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
