/**
 * `session/list`: the sessions of all children, page by page, then those that are remembered of workspaces
 * without one. A page is one child's; the cursor that the editor gets is ours and stands for where in which
 * child the list goes on. No child is started for a list as long as there is something to remember from.
 */
import { randomUUID } from 'node:crypto';
import type { Host } from '../../system/host';
import { CaiError, rpcCode } from '../../errors';
import { resultLine } from '../../rpc/answer';
import { fieldOf, jsonOf, textOf, type Message } from '../../rpc/message';
import { editedText, replacing, type Edit } from '../../rpc/splice';
import type { JsonObject } from '../../rpc/json';
import type { Child } from '../child/child';
import { findWorkspace, type Workspace } from '../../workspace/root';
import { findCheckedWorkspace } from '../../workspace/trust';
import type { Children } from '../child/children';
import type { Call } from '../sessions/editor-call';
import type { SessionRecord } from '../sessions/session-record';
import type { Core } from '../relay/core';
import { askFor, passOn } from '../relay/on-behalf';
import { isAgentError } from '../../rpc/protocol/agent-errors';
import { offers } from '../../rpc/protocol/capabilities';
import { notOffered } from '../../rpc/protocol/refusals';
import { maxPages, pageParams, pageText, rowOf } from './list-page';
import { childrenIn, inEditorsFolder, rememberRow, rememberedSessions } from './remembered-sessions';
import { within } from '../../system/time-limit';
import { objectOf, parsedUnlessLong } from '../../system/unless';
import { isInside } from '../../system/paths/is-inside';

/** How long a child may take for a page where others have sessions too, or memory has its own; in milliseconds. */
const pageMs = 5_000;
/** Sessions of a page that is not a child's. */
const pageRows = 200;
/** Cursors that are remembered; an editor follows one list at a time. */
const maxCursors = 64;
/** Sessions of which it is remembered that they were listed: for one list, and for all but the last together. */
const maxListed = 20_000;

/**
 * The sessions that were listed, by the editor's ids, with the page on which each came first: children that share a home
 * list the same ones. All positions of a list have the same map, as a cursor can be used again.
 */
type ListedSessions = Map<string, number>;

/** Why a child gave no page: its error, or why there is no answer. */
interface Failure {
  readonly child: Child;
  readonly reason: Message | CaiError;
}

interface ListPosition {
  /** The children that are still to be asked, the current one first. */
  readonly children: readonly Child[];
  /** The current child's own cursor, JSON text, and how many pages it has given. */
  readonly cursor?: string | undefined;
  readonly pages: number;
  /** The sessions of all pages so far, and how many pages these were. */
  readonly listed: ListedSessions;
  readonly page: number;
  /** Workspaces whose children have listed all that they have. */
  readonly answered: ReadonlySet<string | undefined>;
  /** What to answer if there is nothing to list; one that asks for a sign-in comes before others. */
  readonly failure?: Failure | undefined;
  /** The folder that was asked for. */
  readonly folder?: Workspace;
  /** What is remembered, once it is its turn, and how much of it was listed. */
  readonly remembered?: readonly SessionRecord[];
  readonly from?: number;
}

export class SessionList {
  readonly #cursors = new Map<string, ListPosition>();

  constructor(
    private readonly core: Core,
    private readonly children: Children,
    private readonly host: Host,
  ) {}

  async serve(call: Call): Promise<void> {
    if (!this.#isOffered(call)) throw notOffered(call.message.method);
    const position = await this.#positionOf(call.message);
    if (call.request !== undefined) await this.#serveFrom(call, position);
  }

  /** Serves a call for the rows of sessions that it names, which several children may have. */
  async serveNamed(call: Call): Promise<void> {
    const { message, request } = call;
    const list = fieldOf(message, 'sessionRefs');
    if (request === undefined || list === undefined) return;
    const pages: { child: Child; page: Message }[] = [];
    for (const [child, ids] of this.#byChild(message)) {
      const edit = replacing(list, JSON.stringify(ids));
      const params = editedText(message.line, message.bodyStart, message.bodyEnd, [edit]);
      const page = await this.#ask(child, call, params);
      if (page instanceof CaiError || page.isError) {
        this.#fail(call, { child, reason: page });
        return;
      }
      pages.push({ child, page });
    }
    const listed = new Map<string, number>();
    const rows = pages.flatMap(({ child, page }, index) =>
      this.#rowsOf(child, page, { listed, page: index }),
    );
    const text = pageText(pages[0]?.page, rows, 'null');
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
  #byChild(message: Message): Map<Child, string[]> {
    const groups = new Map<Child, string[]>();
    for (const field of message.fields.filter((each) => each.kind === 'sessionRef' && each.isString)) {
      const editorId = textOf(message, field);
      const found = this.core.sessions.find(editorId) ?? this.core.sessions.records.recall(editorId);
      if (found === undefined) continue;
      const child =
        'child' in found ? found.child : this.children.usable().find(({ root }) => root === found.root);
      if (child === undefined) continue;
      if (!groups.has(child)) groups.set(child, []);
      groups.get(child)!.push(found.agentId);
    }
    return groups;
  }

  /** Where the call's list begins or goes on. With `cwd` it is that of one child. */
  async #positionOf(message: Message): Promise<ListPosition> {
    const cursor = fieldOf(message, 'cursor');
    if (cursor?.isString === true) {
      const position = this.#cursors.get(textOf(message, cursor));
      if (position === undefined)
        throw new CaiError('INVALID_PARAMS', 'session/list: unknown cursor; start again without one');
      return position;
    }
    const cwd = fieldOf(message, 'cwd');
    const start = { listed: new Map<string, number>(), page: 0, pages: 0, answered: new Set<string>() };
    if (cwd?.isString !== true) return { ...start, children: this.children.usable() };
    const path = textOf(message, cwd);
    // Without a memory an agent may be started for it.
    const { isKept } = this.core.sessions.records;
    const folder = isKept
      ? await findWorkspace(path, { host: this.host })
      : await findCheckedWorkspace(path, this.host);
    const running = childrenIn(folder, this.children.usable(), this.host);
    const isMissing = !isKept && !running.some(({ root }) => root === folder.root);
    const children = isMissing ? [this.children.forWorkspace(folder), ...running] : running;
    return { ...start, children, folder };
  }

  /** Answers with the next page; a child that has nothing (more), or fails, is passed over. */
  async #serveFrom(call: Call, position: ListPosition): Promise<void> {
    const { isKept } = this.core.sessions.records;
    let at = position;
    for (let child = at.children[0]; child !== undefined; child = at.children[0]) {
      // Sessions in worktrees have their own rows.
      const { folder } = at;
      const map =
        folder !== undefined && folder.root === child.root ? this.children.mapFor(folder) : child.map;
      const page = await this.#ask(child, call, pageParams(call.message, map, at.cursor));
      const others = at.children.slice(1);
      if (page instanceof CaiError || page.isError) {
        const failure = { child, reason: page };
        if (call.request?.isCancelled === true) {
          this.#fail(call, failure);
          return;
        }
        this.core.log.info({ root: child.root }, 'a child is left out of session/list');
        // One that never answered `initialize` is asked for no more than what is remembered.
        const isOutweighed = asksToSignIn(at.failure) || (isKept && child.hello === undefined);
        at = {
          ...at,
          children: others,
          cursor: undefined,
          pages: 0,
          failure: isOutweighed ? at.failure : failure,
        };
        continue;
      }
      const rows = this.#rowsOf(child, page, at, map);
      const cursor = page.fields.find((field) => field.kind === 'cursor' && field.isString);
      at = { ...at, cursor: cursor && jsonOf(page, cursor), page: at.page + 1, pages: at.pages + 1 };
      const isOver = cursor === undefined || at.pages === maxPages;
      if (isOver) at = { ...at, children: others, cursor: undefined, pages: 0 };
      if (cursor === undefined) at = { ...at, answered: new Set([...at.answered, child.root]) };
      const isNothing = isOver && rows.length === 0;
      if (isNothing && (others.length > 0 || at.failure !== undefined)) continue;
      const rest = at.children.length > 0 ? { rows: [], next: at } : this.#rememberedAt(at);
      const text = pageText(page, [...rows, ...rest.rows], this.#keep(rest.next));
      this.core.answer(call, resultLine(call.request!.id, text), child.lane);
      return;
    }
    const { rows, next } = this.#rememberedAt(at);
    const { failure, listed } = at;
    if (failure !== undefined && listed.size === 0 && (rows.length === 0 || asksToSignIn(failure)))
      this.#fail(call, failure);
    else this.core.answer(call, resultLine(call.request!.id, pageText(undefined, rows, this.#keep(next))));
  }

  /** A page of what is remembered, once no child is left to be asked, and where the list goes on. */
  #rememberedAt(position: ListPosition): { rows: string[]; next: ListPosition | undefined } {
    const { folder, answered, listed, page, from = 0 } = position;
    const remembered =
      position.remembered ??
      rememberedSessions(this.core.sessions.records, folder, this.host, ({ id, root }) => {
        return !answered.has(root) && !cameBefore(listed, id, page);
      });
    const end = from + pageRows;
    const next = remembered.length > end ? { ...position, remembered, from: end } : undefined;
    return { rows: remembered.slice(from, end).map(rowOf), next };
  }

  /** The page's sessions as the editor may see them, JSON texts, without those that were listed before. */
  #rowsOf(child: Child, page: Message, at: Pick<ListPosition, 'listed' | 'page'>, map = child.map): string[] {
    const { records } = this.core.sessions;
    // Another process may have written of the same sessions since.
    records.refresh();
    const edits = this.core.agentLines.editsOf(child, page, { map });
    const rows: string[] = [];
    const ids = new Set<string>();
    let next = 0;
    for (const row of page.fields.filter((field) => field.kind === 'row')) {
      const inRow: Edit[] = [];
      while (next < edits.length && edits[next]!.start < row.end) inRow.push(edits[next++]!);
      const text = editedText(page.line, row.start, row.end, inRow);
      const info = objectOf(parsedUnlessLong(text));
      const id = info.sessionId;
      if (typeof id !== 'string' || ids.has(id)) continue;
      const isHidden = this.host.workspaces !== undefined && records.recall(id) === undefined;
      if (isHidden || cameBefore(at.listed, id, at.page) || this.#isElsewhere(child, id, info.cwd)) continue;
      ids.add(id);
      if (at.listed.has(id) || at.listed.size < maxListed) at.listed.set(id, at.page);
      rememberRow(records, id, info);
      rows.push(inEditorsFolder(text, records.recall(id), this.host));
    }
    return rows;
  }

  /** Agents of several workspaces may have theirs at one place: each then lists all, as if all worked here. */
  #isElsewhere({ root: own }: Child, id: string, cwd: unknown): boolean {
    const root = this.core.sessions.records.recall(id)?.root;
    if (own === undefined || root === undefined || typeof cwd !== 'string') return false;
    return isInside(cwd, own) && !isInside(cwd, root) && !isInside(root, own);
  }

  /** The child's answer, or why it gives none. Sessions of others, and remembered ones, do not wait long for it. */
  async #ask(child: Child, call: Call, params: string | undefined): Promise<Message | CaiError> {
    const answer = askFor(child, call, params);
    if (!this.core.sessions.records.isKept && this.children.usable().length === 1) return await answer;
    const late = `${call.message.method}: no answer in ${pageMs / 1_000} s`;
    return (await within(pageMs, answer)) ?? new CaiError('AGENT_STALLED', late);
  }

  /** The cursor that stands for a position, JSON text; `null` for the end. Older ones may be forgotten. */
  #keep(position: ListPosition | undefined): string {
    if (position === undefined) return 'null';
    const cursor = randomUUID();
    this.#cursors.set(cursor, position);
    for (const [oldest, { listed }] of this.#cursors) {
      const isTooMuch = listed !== position.listed && this.#listedCount() > maxListed;
      if (this.#cursors.size > maxCursors || isTooMuch) this.#cursors.delete(oldest);
    }
    return JSON.stringify(cursor);
  }

  /** How many sessions are remembered for all lists together. */
  #listedCount(): number {
    const lists = new Set([...this.#cursors.values()].map(({ listed }) => listed));
    return [...lists].reduce((sum, { size }) => sum + size, 0);
  }

  #fail(call: Call, { child, reason }: Failure): void {
    if (reason instanceof CaiError) this.core.fail(call, reason);
    else passOn(this.core, child, call, reason);
  }
}

/** Whether a session was listed before that page. */
function cameBefore(listed: ListedSessions, id: string, page: number): boolean {
  return (listed.get(id) ?? page) < page;
}

function asksToSignIn(failure: Failure | undefined): boolean {
  return isAgentError(failure?.reason, rpcCode.authRequired);
}
