/**
 * `session/list`: the sessions of all children, page by page, then those that are remembered of workspaces
 * without one. A page is one child's; the cursor that the editor gets is ours and stands for where in which
 * child the list goes on. No child is started for a list as long as there is something to remember from.
 */
import type { Host } from '../system/host';
import { CaiError, rpcCode } from '../errors';
import { resultLine } from '../rpc/answer';
import { fieldOf, jsonOf, textOf } from '../rpc/message';
import type { Message } from '../rpc/message';
import { editedText, replacing } from '../rpc/splice';
import type { Edit } from '../rpc/splice';
import type { JsonObject } from '../child/child-data';
import type { WorkspaceChild } from '../child/workspace-child';
import { isInside } from '../paths/path-map';
import { findWorkspace } from '../workspace/root';
import { findCheckedWorkspace } from '../workspace/trust';
import type { Children } from '../relay/children';
import type { Call } from '../sessions/call';
import type { Core } from '../relay/core';
import { ListCursors, ListedSessions, pageParams, pageText, withoutChild } from './list-page';
import type { Failure, ListPosition } from './list-page';
import { isAgentError, notOffered, offers } from '../protocol/refusals';
import { rememberRow, rememberedSessions, rowOf } from './remembered-sessions';
import { within } from '../system/time-limit';

/** How long a child may take for a page where others have sessions too, or memory has its own; in milliseconds. */
const pageMs = 5_000;
/** Sessions of a page that is not a child's. */
const pageRows = 200;
/** Lists sessions. */
export class SessionList {
  readonly #cursors = new ListCursors();

  /** Works on the tables of `core`. */
  constructor(
    private readonly core: Core,
    private readonly children: Children,
    private readonly host: Host,
  ) {}

  /** Serves a call. */
  async serve(call: Call): Promise<void> {
    if (!this.#isOffered(call)) throw notOffered(call.message.method);
    const position = await this.#positionOf(call.message);
    if (call.request !== undefined) await this.#serveFrom(call, position);
  }

  /** Serves a call for the rows of sessions that it names, which may be those of several children. */
  async serveNamed(call: Call): Promise<void> {
    const { message, request } = call;
    const list = fieldOf(message, 'sessionRefs');
    if (request === undefined || list === undefined) return;
    const pages: { child: WorkspaceChild; page: Message }[] = [];
    for (const [child, ids] of this.#byChild(message)) {
      const edit = replacing(list, JSON.stringify(ids));
      const page = await this.#ask(
        child,
        call,
        editedText(message.line, message.bodyStart, message.bodyEnd, [edit]),
      );
      if (page instanceof CaiError || page.isError) {
        this.#fail(call, { child, reason: page });
        return;
      }
      pages.push({ child, page });
    }
    const listed = new ListedSessions();
    const rows = pages.flatMap(({ child, page }, index) =>
      this.#rowsOf(child, page, { listed, page: index }),
    );
    const first = pages[0]?.page;
    const text = first === undefined ? '{"sessions":[]}' : pageText(first, rows, 'null');
    this.core.answer(call, resultLine(request.id, text), pages.at(-1)?.child.lane);
  }

  /** As long as no agent has said for itself what it has, it has what the editor was told. */
  #isOffered({ row }: Call): boolean {
    const { initializeResult } = this.core;
    const known = this.children.usable().filter((child) => child.hello !== undefined);
    if (known.length > 0) return known.some((child) => offers(child.hello?.capabilities, row.capability!));
    if (initializeResult === undefined) return true;
    const { agentCapabilities } = JSON.parse(initializeResult) as { agentCapabilities?: JsonObject | null };
    return offers(agentCapabilities ?? {}, row.capability!);
  }

  /** The agents' ids of the sessions that a call names, by the open child that has them. */
  #byChild(message: Message): Map<WorkspaceChild, string[]> {
    const groups = new Map<WorkspaceChild, string[]>();
    for (const field of message.fields.filter((each) => each.kind === 'sessionRef' && each.isString)) {
      const editorId = textOf(message, field);
      const open = this.core.sessions.find(editorId);
      const record = this.core.sessions.records.recall(editorId);
      const child = open?.child ?? this.children.usable().find((each) => each.root === record?.root);
      const agentId = open?.agentId ?? record?.agentId;
      if (child === undefined || agentId === undefined) continue;
      groups.set(child, [...(groups.get(child) ?? []), agentId]);
    }
    return groups;
  }

  /** Where the call's list begins or goes on. With `cwd` it is that of one child. */
  async #positionOf(message: Message): Promise<ListPosition> {
    const cursor = fieldOf(message, 'cursor');
    if (cursor?.isString === true) {
      const position = this.#cursors.find(textOf(message, cursor));
      if (position === undefined) {
        throw new CaiError('INVALID_PARAMS', 'session/list: unknown cursor; start again without one');
      }
      return position;
    }
    const cwd = fieldOf(message, 'cwd');
    const start = { listed: new ListedSessions(), page: 0, answered: new Set<string>() };
    if (cwd?.isString !== true) return { ...start, children: this.children.usable() };
    const path = textOf(message, cwd);
    // Without a memory an agent may be started for it.
    const folder = this.core.sessions.records.isKept
      ? await findWorkspace(path, { host: this.host })
      : await findCheckedWorkspace(path, this.host);
    const running = this.children.usable().filter((child) => child.root === folder.root);
    const position = { ...start, folder, map: this.children.mapFor(folder) };
    if (running.length > 0 || this.core.sessions.records.isKept)
      return { ...position, children: running.slice(0, 1) };
    return { ...position, children: [this.children.forWorkspace(folder)] };
  }

  /** Answers with the page at `position`; a child that has nothing (more), or fails, is passed over. */
  async #serveFrom(call: Call, position: ListPosition): Promise<void> {
    const [child, ...others] = position.children;
    if (child === undefined) {
      this.#answerRemembered(call, position);
      return;
    }
    const { map = child.map, cursor } = position;
    const page = await this.#ask(child, call, pageParams(call.message, map, cursor));
    if (!(page instanceof CaiError) && !page.isError) {
      await this.#answerPage(call, page, child, position);
      return;
    }
    if (call.request?.isCancelled === true) {
      this.#fail(call, { child, reason: page });
      return;
    }
    this.core.log.info({ root: child.root }, 'a child is left out of session/list');
    const isOutweighed = asksToSignIn(position.failure) || this.#isNotNeeded(child);
    const failure = isOutweighed ? position.failure : { child, reason: page };
    const next = { ...withoutChild(position), children: others, failure };
    await this.#serveFrom(call, next);
  }

  /** One that never answered `initialize` is asked for no more than what is remembered. */
  #isNotNeeded(child: WorkspaceChild): boolean {
    return this.core.sessions.records.isKept && child.hello === undefined;
  }

  #answerRemembered(call: Call, position: ListPosition): void {
    const { rows, next } = this.#rememberedAt(position);
    const { failure, listed } = position;
    if (failure !== undefined && listed.size === 0 && (rows.length === 0 || asksToSignIn(failure))) {
      this.#fail(call, failure);
      return;
    }
    const text = `{"sessions":[${rows.join(',')}]${next === undefined ? '' : `,"nextCursor":${this.#cursors.keep(next)}`}}`;
    this.core.answer(call, resultLine(call.request!.id, text));
  }

  /** A page of what is remembered, once no child is left to be asked, and where the list goes on. */
  #rememberedAt(position: ListPosition): { rows: string[]; next: ListPosition | undefined } {
    const { folder, answered, listed, page } = position;
    const isListed = (id: string): boolean => listed.cameBefore(id, page);
    const { records, from } = position.remembered ?? {
      records: rememberedSessions(this.core.sessions, { folder, besides: answered, isListed }),
      from: 0,
    };
    const end = from + pageRows;
    const next = records.length > end ? { ...position, remembered: { records, from: end } } : undefined;
    return { rows: records.slice(from, end).map(rowOf), next };
  }

  async #answerPage(call: Call, page: Message, child: WorkspaceChild, position: ListPosition): Promise<void> {
    const rows = this.#rowsOf(child, page, position, position.map);
    const cursor = page.fields.find((field) => field.kind === 'cursor' && field.isString);
    let next: ListPosition | undefined;
    if (cursor !== undefined) {
      next = { ...position, cursor: jsonOf(page, cursor), page: position.page + 1 };
    } else {
      const answered = new Set([...position.answered, child.root]);
      const children = position.children.slice(1);
      next = { ...withoutChild(position), children, answered, page: position.page + 1 };
      if (rows.length === 0 && (next.children.length > 0 || next.failure !== undefined)) {
        await this.#serveFrom(call, next);
        return;
      }
      if (next.children.length === 0) {
        const remembered = this.#rememberedAt(next);
        rows.push(...remembered.rows);
        next = remembered.next;
      }
    }
    const text = pageText(page, rows, this.#cursors.keep(next));
    this.core.answer(call, resultLine(call.request!.id, text), child.lane);
  }

  /** The page's sessions as the editor may see them, JSON texts, without those that were listed before. */
  #rowsOf(
    child: WorkspaceChild,
    page: Message,
    at: Pick<ListPosition, 'listed' | 'page'>,
    map = child.map,
  ): string[] {
    // Another process may have written of the same sessions since.
    this.core.sessions.records.refresh();
    const edits = this.core.agentLines.editsOf(child, page, { map });
    const rows: string[] = [];
    const ids = new Set<string>();
    let next = 0;
    for (const row of page.fields.filter((field) => field.kind === 'row')) {
      const inRow: Edit[] = [];
      while (next < edits.length && edits[next]!.start < row.end) inRow.push(edits[next++]!);
      const text = editedText(page.line, row.start, row.end, inRow);
      const info = JSON.parse(text) as Readonly<Record<string, unknown>> | null;
      const id = info?.sessionId;
      if (info === null || typeof id !== 'string' || ids.has(id)) continue;
      if (at.listed.cameBefore(id, at.page) || this.#isElsewhere(child, id, info.cwd)) continue;
      ids.add(id);
      at.listed.add(id, at.page);
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
    const root = this.core.sessions.records.recall(id)?.root;
    if (own === undefined || root === undefined || typeof cwd !== 'string') return false;
    return isInside(cwd, own) && !isInside(cwd, root) && !isInside(root, own);
  }

  /**
   * The child's answer, or why it gives none. It may not keep waiting the sessions of others, nor those that are
   * remembered.
   */
  async #ask(child: WorkspaceChild, call: Call, params: string | undefined): Promise<Message | CaiError> {
    const answer = this.core.ask(child, call, params);
    if (!this.core.sessions.records.isKept && this.children.usable().length === 1) return await answer;
    return (await within(pageMs, answer)) ?? late(call.message.method);
  }

  #fail(call: Call, { child, reason }: Failure): void {
    if (reason instanceof CaiError) this.core.fail(call, reason);
    else this.core.passOn(child, call, reason);
  }
}

function asksToSignIn(failure: Failure | undefined): boolean {
  return isAgentError(failure?.reason, rpcCode.authRequired);
}

function late(method: string): CaiError {
  return new CaiError('AGENT_STALLED', `${method}: no answer in ${pageMs / 1_000} s`);
}
