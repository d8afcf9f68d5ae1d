/**
 * `session/list`: the sessions of all children, page by page, then those that are remembered of workspaces
 * without one. A page is one child's; the cursor that the editor gets is ours and stands for where in which
 * child the list goes on. No child is started for a list as long as there is something to remember from.
 */
import { randomUUID } from 'node:crypto';
import { CaiError } from '../errors';
import { resultLine } from '../rpc/answer';
import { fieldOf, textOf } from '../rpc/scan';
import type { Message } from '../rpc/scan';
import { cut } from '../rpc/splice';
import type { Edit } from '../rpc/splice';
import type { SessionRecord } from '../session/session-record';
import type { JsonObject, WorkspaceChild } from '../session/workspace-child';
import { isInside } from '../workspace/path-map';
import type { PathMap } from '../workspace/path-map';
import { findWorkspace } from '../workspace/root';
import type { Workspace } from '../workspace/root';
import type { Children } from './children';
import type { Call } from './call';
import type { Core } from './core';
import { notOffered, offers } from './refusals';
import { rememberRow, rememberedSessions, rowOf } from './remembered-sessions';
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
  /** Workspaces whose children have listed all that they have. */
  readonly answered: ReadonlySet<string | undefined>;
  /** The folder that was asked for. */
  readonly folder?: Workspace;
  /** What is remembered and still to be listed, once it is its turn. */
  readonly rest?: readonly SessionRecord[];
}

/** How long a child may take for a page where others have sessions too, or memory has its own; in milliseconds. */
const pageMs = 5_000;
/** Sessions of a page that is not a child's. */
const pageRows = 200;
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
    if (!this.#isOffered(call)) throw notOffered(call.message.method);
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
      if (page === undefined) throw late(message.method);
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

  /** As long as no agent has said for itself what it has, it has what the editor was told. */
  #isOffered({ row }: Call): boolean {
    const { initializeResult } = this.core;
    if (initializeResult === '' || this.children.usable().some((child) => child.initializeResult !== ''))
      return true;
    const { agentCapabilities } = JSON.parse(initializeResult) as { agentCapabilities?: JsonObject | null };
    return offers(agentCapabilities ?? {}, row.capability!);
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
    const start = { seen: new Set<string>(), answered: new Set<string>() };
    if (cwd?.isString !== true) return { ...start, children: this.children.usable() };
    const folder = await findWorkspace(textOf(message, cwd), { env: this.env });
    const running = this.children.usable().filter((child) => child.root === folder.root);
    const place = { ...start, folder, map: this.children.mapFor(folder) };
    if (running.length > 0 || this.core.sessions.isKept) return { ...place, children: running.slice(0, 1) };
    return { ...place, children: [this.children.forWorkspace(folder)] };
  }

  /** Answers with the page at `place`; a child that has nothing (more) is passed over. */
  async #serveFrom(call: Call, place: Place): Promise<void> {
    const [child, ...others] = place.children;
    if (child === undefined) {
      this.#answerRemembered(call, place);
      return;
    }
    const page = await this.#ask(child, call, paramsFor(call.message, place.map ?? child.map, place.cursor));
    const isLast = others.length === 0;
    if (page instanceof CaiError && isLast && !this.#isNotNeeded(child)) throw page;
    if (page === undefined || page instanceof CaiError || (page.isError && !isLast)) {
      this.core.log.info({ root: child.root }, 'a child is left out of session/list');
      await this.#serveFrom(call, { ...withoutChild(place), children: others });
      return;
    }
    if (page.isError) {
      this.core.passOn(child, call, page);
      return;
    }
    await this.#answerPage(call, page, child, place);
  }

  /** One that never answered `initialize` is asked for no more than what is remembered. */
  #isNotNeeded(child: WorkspaceChild): boolean {
    return this.core.sessions.isKept && child.initializeResult === '';
  }

  #answerRemembered(call: Call, place: Place): void {
    const { rows, next } = this.#rememberedAt(place);
    const text = `{"sessions":[${rows.join(',')}]${next === undefined ? '' : `,"nextCursor":${this.#keep(next)}`}}`;
    this.core.answer(call, resultLine(call.request!.id, text));
  }

  /** A page of what is remembered, once no child is left to be asked, and where the list goes on. */
  #rememberedAt(place: Place): { rows: string[]; next: Place | undefined } {
    const { folder, answered, seen } = place;
    const all = place.rest ?? rememberedSessions(this.core.sessions, { folder, besides: answered, seen });
    const next = all.length > pageRows ? { ...place, rest: all.slice(pageRows) } : undefined;
    return { rows: all.slice(0, pageRows).map(rowOf), next };
  }

  async #answerPage(call: Call, page: Message, child: WorkspaceChild, place: Place): Promise<void> {
    const seen = new Set(place.seen);
    const rows = this.#rowsOf(child, page, seen, place.map);
    const cursor = page.fields.find((field) => field.kind === 'cursor' && field.isString);
    let next: Place | undefined;
    if (cursor !== undefined) {
      next = { ...place, cursor: page.line.toString('utf8', cursor.start, cursor.end), seen };
    } else {
      const answered = new Set([...place.answered, child.root]);
      next = { ...withoutChild(place), children: place.children.slice(1), seen, answered };
      if (rows.length === 0 && next.children.length > 0) {
        await this.#serveFrom(call, next);
        return;
      }
      if (next.children.length === 0) {
        const remembered = this.#rememberedAt(next);
        rows.push(...remembered.rows);
        next = remembered.next;
      }
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
      const info = JSON.parse(text) as Readonly<Record<string, unknown>> | null;
      const id = info?.sessionId;
      if (info === null || typeof id !== 'string' || seen.has(id) || this.#isElsewhere(child, id, info.cwd))
        continue;
      seen.add(id);
      rememberRow(this.core.sessions, id, info);
      rows.push(text);
    }
    return rows;
  }

  /**
   * Agents of several workspaces may have theirs at the same place: a session of one is then listed by another
   * as if it worked here.
   */
  #isElsewhere({ root: own }: WorkspaceChild, id: string, cwd: unknown): boolean {
    const root = this.core.sessions.recall(id)?.root;
    if (own === undefined || root === undefined || typeof cwd !== 'string') return false;
    return isInside(cwd, own) && !isInside(cwd, root) && !isInside(root, own);
  }

  /**
   * The child's answer, or why it gives none; undefined if it takes too long. One of several may not keep the
   * others' sessions waiting, nor may a start keep those that are remembered.
   */
  async #ask(
    child: WorkspaceChild,
    call: Call,
    params: string | undefined,
  ): Promise<Message | CaiError | undefined> {
    const answer = this.core.ask(child, call, params);
    const isAwaited = child.state === 'ready' || !this.core.sessions.isKept;
    if (this.children.usable().length === 1 && isAwaited) return await answer;
    return await within(pageMs, answer);
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

/** The place without what is about its current child alone. */
function withoutChild({ seen, answered, folder }: Place): Omit<Place, 'children'> {
  return { seen, answered, ...(folder !== undefined && { folder }) };
}

function late(method: string): CaiError {
  return new CaiError('AGENT_STALLED', `${method}: no answer in ${pageMs / 1_000} s`);
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
