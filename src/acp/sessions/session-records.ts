/**
 * What is remembered of sessions beyond their end, and beyond this process by the session file; and the ids that
 * the editor knows them by, which are ours.
 */
import { parse, v4, v5 } from 'uuid';
import type { SessionFile } from './session-file';
import type { SessionRecord } from './session-record';
import { maxPathLength } from '../../system/real-path';
import { isInside } from '../../system/paths/is-inside';

/** How many sessions of one agent are remembered; beyond that, those that were used longest ago are not any more. */
const maxRecords = 50_000;
/** How many more are known for as long as this process lives. */
const maxUnwritten = 10_000;
/** How many ids are known for one id of an agent, which may count from 1 in each process. */
const maxGiven = 100;
/** Shorter ids of agents may be counted; longer ones are taken for random. */
const minUniqueLength = 16;
/** How many folders deep a workspace is looked for. */
const maxDepth = 64;
/** Namespace of the ids that we derive. */
const namespace = parse('6f5c2b1e-3a0d-5d53-9a53-0d6a1c7f4e21');

/** What changes of a session; a member that is `undefined` is removed. */
export type SessionChanges = Partial<Pick<SessionRecord, 'title' | 'updatedAt' | 'openBy' | 'agentId'>>;

/** Where the sessions of an agent are remembered. */
export interface SessionStore {
  readonly agent: string;
  /** `undefined`: nothing is kept beyond this process. */
  readonly file: SessionFile | undefined;
  /** Whether sessions of a workspace, named by its root, may be known to the editor. */
  isAllowed(root: string): boolean;
}

/** What one proxy, which runs one agent, remembers of sessions. */
export class SessionRecords {
  /** What is remembered, in the order of the last changes. */
  readonly #records = new Map<string, SessionRecord>();
  /** Sessions that this process knows from an agent's list alone. */
  readonly #listed = new Set<string>();
  /** The records that are not written to the file, by id. */
  readonly #unwritten = new Set<string>();
  /** The ids given for an agent's session id, the last one first. */
  readonly #given = new Map<string, string[]>();
  /** The roots of the workspaces of all sessions that were ever remembered. */
  readonly #roots = new Set<string>();
  /** The file was read in this turn of the event loop. */
  #isFresh = false;
  /** All of the file is known, and not only what was added since this process looked first. */
  #isWhole = false;

  readonly #agent: string;
  readonly #file: SessionFile | undefined;

  /** `isOpen`: whether an agent has the session with that id, which then is not forgotten to make room. */
  constructor(
    private readonly store: SessionStore,
    private readonly isOpen: (editorId: string) => boolean,
  ) {
    this.#agent = store.agent;
    this.#file = store.file;
  }

  /** Whether something is remembered of the session with that id. */
  has(editorId: string): boolean {
    return this.#found(editorId) !== undefined;
  }

  /** The session with that id is open: it is no longer one that was only listed. */
  opened(editorId: string): void {
    this.#listed.delete(editorId);
    if (this.#unwritten.delete(editorId)) this.#write(this.#records.get(editorId)!);
  }

  /** What is remembered of the session with that id, opened by this or another process. */
  recall(editorId: string): SessionRecord | undefined {
    if (!this.#records.has(editorId)) this.#refreshOnce();
    return this.#found(editorId);
  }

  /**
   * An editor's id for a session that an agent has just made: derived from what names the session, so that it is the
   * same in every process. It is random where the derived one stands for an earlier session, as the agent counts from 1
   * in each process, and while another process gives an id. A session that was only listed is the same one: an agent
   * may list it before it says that it is made.
   */
  idForNew(agentId: string, root: string, cwd: string): string {
    const give = (isAlone: boolean): string => {
      this.refresh();
      const derived = this.#derive(agentId, root);
      this.#recallPast(derived);
      const wasOnlyListed = this.#listed.delete(derived);
      this.#unwritten.delete(derived);
      const isTaken = (this.#records.has(derived) && !wasOnlyListed) || this.isOpen(derived);
      const id = this.#remember(isAlone && !isTaken ? derived : v4(), agentId, root, cwd);
      this.#file?.flush();
      return id;
    };
    return this.#file?.alone(() => give(true)) ?? give(this.#file === undefined);
  }

  /**
   * The editor's id for a session that an agent says it has: the one given last, else a derived one. `anywhere`: an id
   * given for another workspace counts if no id was given for this one; not if the session was only listed there under
   * an id that may be counted, as agents that count choose the same ids. `isWritten`: asked of a new session, whether
   * it is written to the file before it is opened.
   */
  idForKnown(
    agentId: string,
    root: string,
    cwd: string,
    anywhere = false,
    isWritten = (): boolean => true,
  ): string {
    const known = this.#isWhole ? this.#givenFor(agentId, root, cwd, false) : undefined;
    if (known !== undefined) return known;
    this.#refreshOnce();
    this.#takeWhole();
    const id = this.#givenFor(agentId, root, cwd, anywhere) ?? this.#derive(agentId, root);
    // A longer path names no folder.
    if (cwd.length > maxPathLength || this.#records.has(id)) return id;
    this.#listed.add(id);
    if (!isWritten()) this.#unwritten.add(id);
    return this.#remember(id, agentId, root, cwd);
  }

  /** What is remembered, by this and other processes, also of what is open; in no order. */
  remembered(): SessionRecord[] {
    this.refresh();
    this.#takeWhole();
    return [...this.#records.values()].filter(({ root }) => this.store.isAllowed(root));
  }

  /** The root of the innermost known workspace that a folder lies in. */
  rootOf(folder: string): string | undefined {
    if (folder.length > maxPathLength) return undefined;
    this.#takeWhole();
    const names = folder.split('/').slice(0, maxDepth + 1);
    const folders = names.map((_, last) => names.slice(0, last + 1).join('/') || '/');
    return folders.findLast((each) => this.#roots.has(each));
  }

  /** Whether what is remembered outlives this process. */
  get isKept(): boolean {
    return this.#file !== undefined;
  }

  /** Changes what is remembered of a session, which then counts as used now; nothing happens for an unknown one. */
  update(editorId: string, changes: SessionChanges): void {
    const record = this.#found(editorId);
    if (record !== undefined) this.#write(changed(record, changes));
  }

  /** Takes in what other processes have remembered since. */
  refresh(): void {
    this.#takeIn(this.#file?.news());
  }

  /** Takes in all that was ever remembered, which takes long if it is much. */
  #takeWhole(): void {
    if (this.#isWhole) return;
    this.#isWhole = true;
    this.#takeIn(this.#file?.load());
  }

  #takeIn(records: ReadonlyMap<string, SessionRecord> | undefined): void {
    if (records === undefined) return;
    for (const record of records.values()) {
      if (record.agent !== this.#agent) continue;
      this.#unwritten.delete(record.id);
      // Another process has used it since.
      if (this.#records.get(record.id)?.at !== record.at) this.#listed.delete(record.id);
      this.#keep(record);
    }
    for (const id of this.#file?.gone ?? []) this.#drop(id);
  }

  #recallPast(editorId: string): void {
    if (this.#isWhole || this.#records.has(editorId)) return;
    const record = this.#file?.past(editorId);
    if (record?.agent === this.#agent) this.#keep(record);
  }

  /** The session is gone for good. */
  forget(editorId: string): void {
    if (!this.has(editorId) || !this.#drop(editorId)) return;
    this.#file?.append({ id: editorId, gone: true });
    this.#file?.flush();
  }

  #found(editorId: string): SessionRecord | undefined {
    this.#recallPast(editorId);
    const record = this.#records.get(editorId);
    return record !== undefined && this.store.isAllowed(record.root) ? record : undefined;
  }

  /** As `refresh`, but once in a turn of the event loop: a list may have any number of rows. */
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
    const name = Buffer.from(JSON.stringify([this.#agent, root, agentId]));
    // By a text in one piece: a list may have any number of ids, and `uuid` writes each in 20.
    const hex = v5(name, namespace, Buffer.allocUnsafe(16)).toString('hex');
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  }

  #remember(id: string, agentId: string, root: string, cwd: string): string {
    this.#makeRoom();
    // Each row of a list brings another copy.
    const place = cwd === root ? root : cwd;
    this.#write({ id, agent: this.#agent, agentId, root, cwd: place, at: new Date().toISOString() });
    return id;
  }

  /**
   * Forgets what was used longest ago, if there is too much; never what is open here. What is not taken in has its limit
   * in the length of the file.
   */
  #makeRoom(): void {
    // Half of them at once, since to find the first one of a set takes the longer the more have been deleted.
    if (this.#unwritten.size > maxUnwritten)
      for (const id of [...this.#unwritten].slice(0, maxUnwritten / 2)) this.#drop(id);
    const isFull = (): boolean => this.#records.size - this.#unwritten.size >= maxRecords;
    if (!isFull()) return;
    for (const id of this.#records.keys()) {
      if (!isFull()) return;
      if (this.isOpen(id)) continue;
      if (!this.#unwritten.has(id)) this.#file?.append({ id, gone: true });
      this.#drop(id);
    }
  }

  #write(record: SessionRecord): void {
    this.#keep(record);
    if (!this.#unwritten.has(record.id)) this.#file?.append(record);
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
    // Deleted first, for the order, in which those that are not written have no place.
    const isWritten = !this.#unwritten.has(record.id);
    if (isWritten) this.#records.delete(record.id);
    this.#records.set(record.id, record);
    if (isWritten) this.#roots.add(record.root);
    if (this.#given.get(record.agentId)?.[0] !== record.id)
      this.#given.set(record.agentId, [record.id, ...this.#others(record)].slice(0, maxGiven));
  }

  /** The ids given for the same agent's id, without that of the record. */
  #others({ id, agentId }: SessionRecord): string[] {
    return (this.#given.get(agentId) ?? []).filter((other) => other !== id);
  }
}

/** Member by member: of that V8 makes an object of 100 bytes, and one of 700 of `{ ...record, ...changes }`. */
function changed(record: SessionRecord, changes: SessionChanges): SessionRecord {
  const { id, agent, root, cwd } = record;
  const now = <K extends keyof SessionChanges>(name: K) => (name in changes ? changes : record)[name];
  const [title, updatedAt, openBy] = [now('title'), now('updatedAt'), now('openBy')];
  const agentId = now('agentId') ?? record.agentId;
  return { id, agent, agentId, root, cwd, at: new Date().toISOString(), title, updatedAt, openBy };
}
