/**
 * Which session an id stands for: the editor's ids are ours and unique on its connection, an agent's are
 * unique within one child only. What is open lives here; what was ever opened is in the session file too.
 */
import { v4, v5 } from 'uuid';
import type { SessionFile } from './session-file';
import type { SessionRecord } from './session-record';
import { isInside } from '../paths/path-map';
import { maxPathLength } from '../system/real-path';
import type { Session } from '../child/workspace-child';

/** How many sessions of one agent are remembered; beyond that, those that were used longest ago are not any more. */
const maxRecords = 50_000;
/** How many are known besides, for as long as this process lives. */
const maxUnwritten = 10_000;
/** How many of the ids are known that were given for one id of an agent, which may count anew in each process. */
const maxGiven = 100;
/** Ids of agents that are at least so long are random, and those that are shorter may be counted. */
const minUniqueLength = 16;
/** How many folders deep a workspace is looked for. */
const maxDepth = 64;
/** How many sessions of agents that have ended are kept: agents, which end as they like, open them by naming them. */
const maxLost = 10_000;

/** Namespace of the ids that we derive. */
const namespace = '6f5c2b1e-3a0d-5d53-9a53-0d6a1c7f4e21';

/** What becomes known of a session; a member that is `undefined` is no longer so. */
export type SessionChanges = Partial<Pick<SessionRecord, 'title' | 'updatedAt' | 'openBy'>>;

/** The sessions of one proxy, which runs one agent. */
export class SessionTable {
  /** Told of each session that is open no longer; not of one that is opened anew under its id. */
  onClose: ((session: Session) => void) | undefined;
  readonly #open = new Map<string, Session>();
  /** Sessions whose agent has ended, as they were. */
  readonly #lost = new Map<string, Session>();
  /** What is remembered, in the order of the last changes. */
  readonly #records = new Map<string, SessionRecord>();
  /** Those of them that are not written down: an agent has listed them, and nobody has used them. */
  readonly #unwritten = new Set<string>();
  /** Those that a list alone has made, in this process, and nobody has opened: the unwritten ones and others. */
  readonly #listed = new Set<string>();
  /** The ids given for an agent's session id, the last one first. */
  readonly #given = new Map<string, string[]>();
  /** The roots of all that was ever remembered. */
  readonly #roots = new Set<string>();
  /** What others have remembered was looked at in this turn of the event loop. */
  #isFresh = false;

  /** `file` is undefined when nothing is to be kept. */
  constructor(
    private readonly agent: string,
    private readonly file: SessionFile | undefined,
  ) {}

  /** The open session with that id. */
  find(editorId: string): Session | undefined {
    return this.#open.get(editorId);
  }

  /** Every open session. */
  all(): Session[] {
    return [...this.#open.values()];
  }

  /** Opens a session. An older one under the same ids is no longer open. */
  open(session: Session): void {
    const older = session.child.sessions.get(session.agentId);
    if (older !== undefined && older.editorId !== session.editorId) this.close(older);
    const elsewhere = this.#open.get(session.editorId);
    if (elsewhere !== undefined) elsewhere.child.sessions.delete(elsewhere.agentId);
    session.child.sessions.set(session.agentId, session);
    this.#open.set(session.editorId, session);
    this.#lost.delete(session.editorId);
    this.#listed.delete(session.editorId);
    if (this.#unwritten.delete(session.editorId)) this.#write(this.#records.get(session.editorId)!);
  }

  /** Opens a session that an agent has made anew, under another id of its own. */
  openAs(session: Session, agentId: string): void {
    session.agentId = agentId;
    this.open(session);
    const record = this.#records.get(session.editorId);
    if (record !== undefined) this.#write({ ...record, agentId });
    this.file?.flush();
  }

  /** The session is open no longer. What is remembered of it stays. */
  close(session: Session): void {
    if (session.child.sessions.get(session.agentId) === session)
      session.child.sessions.delete(session.agentId);
    if (this.#open.get(session.editorId) !== session) return;
    this.#open.delete(session.editorId);
    this.onClose?.(session);
  }

  /** Its agent has ended: it is open no longer, and can be restored if it is known what opened it. */
  lose(session: Session): void {
    this.close(session);
    if (session.openParams === undefined || this.#open.has(session.editorId)) return;
    this.#lost.set(session.editorId, session);
    const [oldest] = this.#lost.keys();
    if (this.#lost.size > maxLost) this.#lost.delete(oldest!);
  }

  /** The session with that id whose agent has ended, as it was. */
  lost(editorId: string): Session | undefined {
    return this.#lost.get(editorId);
  }

  /** Such a session is not wanted any more. */
  giveUp(editorId: string): void {
    this.#lost.delete(editorId);
  }

  /** Whether that id is an open or remembered session's, of whichever agent's process. */
  isGiven(editorId: string): boolean {
    return this.#open.has(editorId) || this.#records.has(editorId);
  }

  /** What is remembered of the session with that id, opened by this or another process. */
  recall(editorId: string): SessionRecord | undefined {
    if (!this.#records.has(editorId)) this.#refreshOnce();
    return this.#records.get(editorId);
  }

  /**
   * An editor's id for a session that an agent has just made: derived from what names the session, so
   * that it is the same in every process. Where that stands for an earlier session already, because the
   * agent counts anew in each process, or while another process gives one, it is random. One that was only listed is the same session: an agent may list
   * it before it says that it is made.
   */
  idForNew(agentId: string, root: string, cwd: string): string {
    const give = (isAlone: boolean): string => {
      this.refresh();
      const derived = this.#derive(agentId, root);
      const wasOnlyListed = this.#listed.delete(derived);
      this.#unwritten.delete(derived);
      const isTaken = (this.#records.has(derived) && !wasOnlyListed) || this.#open.has(derived);
      const id = this.#remember(isAlone && !isTaken ? derived : v4(), agentId, root, cwd);
      this.file?.flush();
      return id;
    };
    return this.file?.alone(() => give(true)) ?? give(this.file === undefined);
  }

  /**
   * The editor's id for a session that an agent says it has: the one given last, else a derived one. `anywhere`:
   * one that was given for another workspace counts, if there is none for this. Of a session that was only listed
   * there, that is so if the agent's id is one that no other agent has chosen, too: agents that count have the same. `isWritten` is asked of a session
   * that is new whether it is to be written down before it is opened.
   */
  idForKnown(
    agentId: string,
    root: string,
    cwd: string,
    anywhere = false,
    isWritten = (): boolean => true,
  ): string {
    const known = this.#givenFor(agentId, root, cwd, false);
    if (known !== undefined) return known;
    this.#refreshOnce();
    const given = this.#givenFor(agentId, root, cwd, anywhere);
    if (given !== undefined) return given;
    const id = this.#derive(agentId, root);
    // A longer one names no folder.
    if (cwd.length > maxPathLength || this.#records.has(id)) return id;
    this.#listed.add(id);
    if (!isWritten()) this.#unwritten.add(id);
    return this.#remember(id, agentId, root, cwd);
  }

  /** What is remembered, by this and other processes, also of what is open; in no order. */
  remembered(): SessionRecord[] {
    this.refresh();
    return [...this.#records.values()];
  }

  /** The root of the innermost known workspace that a folder lies in. */
  rootOf(folder: string): string | undefined {
    if (folder.length > maxPathLength) return undefined;
    let root = this.#roots.has('/') ? '/' : undefined;
    for (let depth = 0, end = 0; depth < maxDepth && end < folder.length; depth++) {
      const slash = folder.indexOf('/', end + 1);
      end = slash < 0 ? folder.length : slash;
      const outer = folder.slice(0, end);
      if (this.#roots.has(outer)) root = outer;
    }
    return root;
  }

  /** What is remembered outlives this process. */
  get isKept(): boolean {
    return this.file !== undefined;
  }

  /** Changes what is remembered of a session, which then counts as used now; nothing happens if that is nothing. */
  update(editorId: string, changes: SessionChanges): void {
    const record = this.#records.get(editorId);
    if (record !== undefined) this.#write({ ...record, ...changes, at: new Date().toISOString() });
  }

  /** Takes in what other processes have remembered since. */
  refresh(): void {
    const records = this.file?.load();
    if (records === undefined) return;
    for (const record of records.values()) {
      if (record.agent !== this.agent) continue;
      this.#unwritten.delete(record.id);
      // Another process has used it since.
      if (this.#records.get(record.id)?.at !== record.at) this.#listed.delete(record.id);
      this.#keep(record);
    }
    for (const id of this.file?.gone ?? []) this.#drop(id);
  }

  /** The session is gone for good. */
  forget(editorId: string): void {
    this.giveUp(editorId);
    if (!this.#drop(editorId)) return;
    this.file?.append({ id: editorId, gone: true });
    this.file?.flush();
  }

  /** As `refresh`, but once for all that is done in one go: a list may have any number of rows. */
  #refreshOnce(): void {
    if (this.#isFresh) return;
    this.#isFresh = true;
    queueMicrotask(() => (this.#isFresh = false));
    this.refresh();
  }

  #givenFor(agentId: string, root: string, cwd: string, anywhere: boolean): string | undefined {
    const given = this.#given.get(agentId) ?? [];
    const rootOf = (id: string): string => this.#records.get(id)!.root;
    return (
      given.find((id) => rootOf(id) === root) ??
      given.find((id) => isInside(cwd, rootOf(id))) ??
      (anywhere ? given.find((id) => agentId.length >= minUniqueLength || !this.#listed.has(id)) : undefined)
    );
  }

  #derive(agentId: string, root: string): string {
    return v5(JSON.stringify([this.agent, root, agentId]), namespace);
  }

  #remember(id: string, agentId: string, root: string, cwd: string): string {
    this.#makeRoom();
    this.#write({ id, agent: this.agent, agentId, root, cwd, at: new Date().toISOString() });
    return id;
  }

  /** What is open here is remembered in any case. */
  #makeRoom(): void {
    // Half of them at once, since to find the first one of a set takes the longer the more have been deleted.
    if (this.#unwritten.size > maxUnwritten)
      for (const id of [...this.#unwritten].slice(0, maxUnwritten / 2)) this.#drop(id);
    const isFull = (): boolean => this.#records.size - this.#unwritten.size >= maxRecords;
    if (!isFull()) return;
    for (const id of this.#records.keys()) {
      if (!isFull()) return;
      if (this.#open.has(id)) continue;
      if (!this.#unwritten.has(id)) this.file?.append({ id, gone: true });
      this.#drop(id);
    }
  }

  #write(record: SessionRecord): void {
    this.#keep(record);
    if (!this.#unwritten.has(record.id)) this.file?.append(record);
  }

  /** False if nothing was remembered. */
  #drop(editorId: string): boolean {
    const record = this.#records.get(editorId);
    if (record === undefined) return false;
    this.#records.delete(editorId);
    this.#unwritten.delete(editorId);
    this.#listed.delete(editorId);
    const others = this.#others(record);
    if (others.length > 0) this.#given.set(record.agentId, others);
    else this.#given.delete(record.agentId);
    return true;
  }

  #keep(record: SessionRecord): void {
    if (this.#records.get(record.id)?.agentId !== record.agentId) this.#drop(record.id);
    // Deleted first, for the order.
    this.#records.delete(record.id);
    this.#records.set(record.id, record);
    if (!this.#unwritten.has(record.id)) this.#roots.add(record.root);
    this.#given.set(record.agentId, [record.id, ...this.#others(record)].slice(0, maxGiven));
  }

  /** The ids given for the same agent's id, without that of the record. */
  #others({ id, agentId }: SessionRecord): string[] {
    return (this.#given.get(agentId) ?? []).filter((other) => other !== id);
  }
}
