/**
 * Keeps in the session table what becomes known of sessions while they are open: that they are, their titles,
 * when they were used. Not every prompt is written: editors end us by SIGKILL, but an activity of the last
 * minute is no loss.
 */
import { ownIdentity } from '../../system/process-identity';
import type { Message } from '../../rpc/message';
import type { AgentSession } from './session';
import type { SessionChanges } from './session-records';
import type { SessionTable } from './session-table';
import { updateOf } from './session-update';
import type { SessionObserver } from './observer';

/** How long after one activity the next is written, and after one title the next; in milliseconds. */
const activityMs = 60_000;
const titleMs = 1_000;
/** Longest title that is kept, in UTF-16 units, and longest update that is looked at for one, in bytes. */
const maxTitleLength = 500;
const maxInfoBytes = 64 * 1_024;

/** What is still to be written of a session; times in milliseconds since 1970. */
interface Unsaved {
  changes: SessionChanges;
  /** When the session was used last: of a hundred of these one is written. */
  usedAt: number | undefined;
  /** When something was written last, and when a title was. */
  savedAt: number;
  titledAt: number;
  dueAt: number;
  timer?: NodeJS.Timeout;
}

export class SessionMemory implements SessionObserver {
  readonly #unsaved = new Map<string, Unsaved>();
  readonly #self = ownIdentity();

  constructor(private readonly sessions: SessionTable) {}

  /** It is open here. A session that was just made is not used yet, and many never are. */
  onOpen({ editorId }: AgentSession, request: Message): void {
    // The editor waits for the answer, and the session itself is written already.
    if (request.method === 'session/new') setImmediate(() => this.#noteOpen(editorId));
    else if (this.#wasUsed(editorId)) this.#noteOpen(editorId);
    else this.#used(editorId);
  }

  /** A prompt counts as activity. */
  onCall({ editorId }: AgentSession, { method }: Message): void {
    if (method === 'session/prompt') this.#used(editorId);
  }

  /** The end of a prompt's turn counts as activity. */
  onAnswer({ editorId }: AgentSession, method: string): void {
    const isOpen = this.sessions.find(editorId) !== undefined;
    if (method === 'session/prompt' && isOpen) this.#used(editorId);
  }

  /** What the agent calls the session. Source: ACP v1, `SessionInfoUpdate`. */
  onUpdate({ editorId }: AgentSession, kind: string, update: Message): void {
    if (kind !== 'session_info_update' || update.line.length > maxInfoBytes) return;
    const title = titleOf(updateOf(update).title);
    if (title !== undefined) this.#note(editorId, { title: title === '' ? undefined : title }, titleMs);
  }

  /** It is open no longer. */
  onClose({ editorId }: AgentSession): void {
    const isOpenHere = this.sessions.records.recall(editorId)?.openBy === this.#self;
    if (isOpenHere || this.#unsaved.has(editorId)) this.#note(editorId, { openBy: undefined }, 0);
    this.#unsaved.delete(editorId);
  }

  #noteOpen(editorId: string): void {
    if (this.sessions.find(editorId) !== undefined) this.#note(editorId, { openBy: this.#self }, 0);
  }

  #wasUsed(editorId: string): boolean {
    return this.sessions.records.recall(editorId)?.updatedAt !== undefined;
  }

  #used(editorId: string): void {
    const unsaved = this.#unsavedOf(editorId);
    unsaved.usedAt = Date.now();
    this.#saveAt(editorId, unsaved, unsaved.savedAt + (this.#wasUsed(editorId) ? activityMs : 0));
  }

  /** Writes changes, with what waits, but not sooner than `intervalMs` after the last changes of their kind. */
  #note(editorId: string, changes: SessionChanges, intervalMs: number): void {
    const unsaved = this.#unsavedOf(editorId);
    Object.assign(unsaved.changes, changes);
    const before = 'title' in changes ? unsaved.titledAt : unsaved.savedAt;
    this.#saveAt(editorId, unsaved, before + intervalMs);
  }

  #unsavedOf(editorId: string): Unsaved {
    const known = this.#unsaved.get(editorId);
    if (known !== undefined) return known;
    const unsaved = { changes: {}, usedAt: undefined, savedAt: 0, titledAt: 0, dueAt: Infinity };
    this.#unsaved.set(editorId, unsaved);
    return unsaved;
  }

  #saveAt(editorId: string, unsaved: Unsaved, dueAt: number): void {
    if (dueAt >= unsaved.dueAt) return;
    clearTimeout(unsaved.timer);
    unsaved.dueAt = dueAt;
    const delayMs = dueAt - Date.now();
    if (delayMs <= 0) this.#save(editorId, unsaved);
    else unsaved.timer = setTimeout(() => this.#save(editorId, unsaved), delayMs).unref();
  }

  #save(editorId: string, unsaved: Unsaved): void {
    const { changes, usedAt } = unsaved;
    const savedAt = Date.now();
    const titledAt = 'title' in changes ? savedAt : unsaved.titledAt;
    Object.assign(unsaved, { changes: {}, usedAt: undefined, savedAt, titledAt, dueAt: Infinity });
    // That it is open is said again, because another process may have had it open meanwhile.
    const use = usedAt !== undefined && { updatedAt: new Date(usedAt).toISOString(), openBy: this.#self };
    // Another process may have written of the same session since.
    this.sessions.records.refresh();
    this.sessions.records.update(editorId, { ...use, ...changes });
  }
}

/** A title as it is kept; empty for `null`, which takes one back; undefined for what is no title. */
export function titleOf(value: unknown): string | undefined {
  if (value === null) return '';
  // A pair of surrogates is not cut in two.
  return typeof value === 'string'
    ? value.slice(0, maxTitleLength).replace(/[\ud800-\udbff]$/, '')
    : undefined;
}
