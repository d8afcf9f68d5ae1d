/**
 * `session/list`: the sessions of all children, page by page. A page is one child's; the cursor that the
 * editor gets is ours and stands for where in which child the list goes on.
 */
import { randomUUID } from 'node:crypto';
import { CaiError } from '../errors';
import { resultLine } from '../rpc/answer';
import { fieldOf, textOf } from '../rpc/scan';
import type { Message } from '../rpc/scan';
import { cut } from '../rpc/splice';
import type { Edit } from '../rpc/splice';
import type { WorkspaceChild } from '../session/workspace-child';
import type { PathMap } from '../workspace/path-map';
import { findWorkspace } from '../workspace/root';
import type { Children } from './children';
import type { Call } from './call';
import type { Core } from './core';
import { editsOf, pathsToAgent } from './rewrite';
import { within } from './within';

/** Where a list goes on. */
interface Place {
  /** The children that are still to be asked, the current one first. */
  readonly children: readonly WorkspaceChild[];
  /** Between the editor's paths and the current child's; the child's own when undefined. */
  readonly map?: PathMap;
  /** The current child's own cursor, JSON text. */
  readonly cursor?: string;
  /** Editor's ids of the sessions that were listed: children that share a home list the same ones. */
  readonly seen: ReadonlySet<string>;
}

/** How long one of several children may take for a page, in milliseconds. */
const pageMs = 5_000;
/** Cursors that are remembered; an editor follows one list at a time. */
const maxCursors = 64;

/** Lists sessions. */
export class SessionList {
  readonly #places = new Map<string, Place>();

  /** Works on the tables of `core`. */
  constructor(
    private readonly core: Core,
    private readonly children: Children,
    private readonly env: NodeJS.ProcessEnv,
  ) {}

  /** Serves a call. */
  async serve(call: Call): Promise<void> {
    const place = await this.#placeOf(call.message);
    if (call.request !== undefined) await this.#serveFrom(call, place);
  }

  /** Serves a call for the rows of sessions that it names, which may be those of several children. */
  async serveNamed(call: Call): Promise<void> {
    const { message, request } = call;
    const list = fieldOf(message, 'sessionRefs');
    if (request === undefined || list === undefined) return;
    const pages: { child: WorkspaceChild; page: Message }[] = [];
    for (const [child, ids] of this.#byChild(message)) {
      const edit = { start: list.start, end: list.end, text: JSON.stringify(ids) };
      const page = await this.#ask(
        child,
        call,
        cut(message.line, message.bodyStart, message.bodyEnd, [edit]),
      );
      if (page instanceof CaiError) throw page;
      if (page.isError) {
        this.core.passOn(child, call, page);
        return;
      }
      pages.push({ child, page });
    }
    const seen = new Set<string>();
    const rows = pages.flatMap(({ child, page }) => this.#rowsOf(child, page, seen));
    const first = pages[0]?.page;
    const text = first === undefined ? '{"sessions":[]}' : pageText(first, rows, 'null');
    this.core.answer(call, resultLine(request.id, text), pages.at(-1)?.child.lane);
  }

  /** The agents' ids of the sessions that a call names, by the open child that has them. */
  #byChild(message: Message): Map<WorkspaceChild, string[]> {
    const groups = new Map<WorkspaceChild, string[]>();
    for (const field of message.fields.filter((each) => each.kind === 'sessionRef' && each.isString)) {
      const editorId = textOf(message, field);
      const open = this.core.sessions.find(editorId);
      const record = this.core.sessions.recall(editorId);
      const child = open?.child ?? this.children.usable().find((each) => each.root === record?.root);
      const agentId = open?.agentId ?? record?.agentId;
      if (child === undefined || agentId === undefined) continue;
      groups.set(child, [...(groups.get(child) ?? []), agentId]);
    }
    return groups;
  }

  /** Where the call's list begins or goes on. With `cwd` it is that of one child. */
  async #placeOf(message: Message): Promise<Place> {
    const cursor = fieldOf(message, 'cursor');
    if (cursor?.isString === true) {
      const place = this.#places.get(textOf(message, cursor));
      if (place === undefined) {
        throw new CaiError('INVALID_PARAMS', 'session/list: unknown cursor; start again without one');
      }
      return place;
    }
    const cwd = fieldOf(message, 'cwd');
    if (cwd?.isString !== true) return { children: this.children.usable(), seen: new Set() };
    const workspace = await findWorkspace(textOf(message, cwd), { env: this.env });
    const map = this.children.mapFor(workspace);
    return { children: [this.children.forWorkspace(workspace)], map, seen: new Set() };
  }

  /** Answers with the page at `place`; a child that has nothing (more) is passed over. */
  async #serveFrom(call: Call, place: Place): Promise<void> {
    const id = call.request!.id;
    const [child, ...others] = place.children;
    if (child === undefined) {
      this.core.answer(call, resultLine(id, '{"sessions":[]}'));
      return;
    }
    const page = await this.#ask(child, call, paramsFor(call.message, place.map ?? child.map, place.cursor));
    const isLast = others.length === 0;
    if (page instanceof CaiError && isLast) throw page;
    if (page instanceof CaiError || (page.isError && !isLast)) {
      this.core.log.info({ root: child.root }, 'a child is left out of session/list');
      await this.#serveFrom(call, { ...place, children: others });
      return;
    }
    if (page.isError) {
      this.core.passOn(child, call, page);
      return;
    }
    await this.#answerPage(call, page, child, place, others);
  }

  async #answerPage(
    call: Call,
    page: Message,
    child: WorkspaceChild,
    place: Place,
    others: readonly WorkspaceChild[],
  ): Promise<void> {
    const seen = new Set(place.seen);
    const rows = this.#rowsOf(child, page, seen, place.map);
    const cursor = page.fields.find((field) => field.kind === 'cursor' && field.isString);
    const next: Place | undefined =
      cursor !== undefined
        ? { ...place, cursor: page.line.toString('utf8', cursor.start, cursor.end), seen }
        : others.length > 0
          ? { children: others, seen }
          : undefined;
    if (rows.length === 0 && cursor === undefined && next !== undefined) {
      await this.#serveFrom(call, next);
      return;
    }
    const text = pageText(page, rows, this.#keep(next));
    this.core.answer(call, resultLine(call.request!.id, text), child.lane);
  }

  /** The page's sessions as the editor may see them, JSON texts, without those that were listed before. */
  #rowsOf(child: WorkspaceChild, page: Message, seen: Set<string>, map = child.map): string[] {
    const edits = this.core.editsToEditor(child, page, { map });
    const rows: string[] = [];
    let next = 0;
    for (const row of page.fields.filter((field) => field.kind === 'row')) {
      const inRow: Edit[] = [];
      while (next < edits.length && edits[next]!.start < row.end) inRow.push(edits[next++]!);
      const text = cut(page.line, row.start, row.end, inRow);
      const id = (JSON.parse(text) as { sessionId?: unknown } | null)?.sessionId;
      if (typeof id !== 'string' || seen.has(id)) continue;
      seen.add(id);
      rows.push(text);
    }
    return rows;
  }

  /** The child's answer, or why it gives none. One of several may not keep the others' sessions waiting. */
  async #ask(child: WorkspaceChild, call: Call, params: string | undefined): Promise<Message | CaiError> {
    const answer = this.core.ask(child, call, params);
    if (this.children.usable().length === 1) return await answer;
    const late = new CaiError('AGENT_STALLED', `${call.message.method}: no answer in ${pageMs / 1_000} s`);
    return (await within(pageMs, answer)) ?? late;
  }

  /** The cursor that stands for a place, JSON text; `null` for the end. */
  #keep(place: Place | undefined): string {
    if (place === undefined) return 'null';
    const cursor = randomUUID();
    this.#places.set(cursor, place);
    const [oldest] = this.#places.keys();
    if (this.#places.size > maxCursors) this.#places.delete(oldest!);
    return JSON.stringify(cursor);
  }
}

/** The call's params for a child, with that child's own cursor, JSON text (`null` for none). */
function paramsFor(message: Message, map: PathMap, cursor = 'null'): string | undefined {
  const edits = editsOf(message, { ...pathsToAgent(map) });
  const ours = fieldOf(message, 'cursor');
  if (ours !== undefined) edits.push({ start: ours.start, end: ours.end, text: cursor });
  const { line, bodyStart, bodyEnd } = message;
  return bodyStart < 0 ? undefined : cut(line, bodyStart, bodyEnd, edits);
}

/** The agent's result with these rows and this cursor (JSON text, `null` for none), and otherwise its own. */
function pageText(page: Message, rows: readonly string[], cursor: string): string {
  const list = fieldOf(page, 'rows');
  if (list === undefined) return `{"sessions":[${rows.join(',')}],"nextCursor":${cursor}}`;
  const edits: Edit[] = [{ start: list.start, end: list.end, text: `[${rows.join(',')}]` }];
  const theirs = fieldOf(page, 'cursor');
  const first = page.bodyStart + 1;
  if (theirs !== undefined) edits.push({ start: theirs.start, end: theirs.end, text: cursor });
  else if (cursor !== 'null') edits.push({ start: first, end: first, text: `"nextCursor":${cursor},` });
  return cut(page.line, page.bodyStart, page.bodyEnd, edits);
}
