/**
 * Which session an id stands for: the editor's ids are ours and unique on its connection, an agent's are
 * unique within one child only. What is open lives here; what was ever opened is in the session file too.
 */
import { v4, v5 } from 'uuid';
import type { SessionFile, SessionRecord } from './session-file';
import { isInside } from '../workspace/path-map';
import type { Session } from './workspace-child';

/** How many sessions of one agent are remembered; ids beyond that are good for this process only. */
const maxRecords = 50_000;

/** How exactly the last use of a session is known, in milliseconds. */
const touchMs = 24 * 60 * 60 * 1_000;

/** Namespace of the ids that we derive. */
const namespace = '6f5c2b1e-3a0d-5d53-9a53-0d6a1c7f4e21';

/** The sessions of one proxy, which runs one agent. */
export class SessionTable {
  /** Told of each session that is open no longer; not of one that is opened anew under its id. */
  onClose: ((session: Session) => void) | undefined;
  readonly #open = new Map<string, Session>();
  readonly #records = new Map<string, SessionRecord>();
  /** The ids given for an agent's session id, the last one first. */
  readonly #given = new Map<string, string[]>();

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
  }

  /** The session is open no longer. What is remembered of it stays. */
  close(session: Session): void {
    if (session.child.sessions.get(session.agentId) === session)
      session.child.sessions.delete(session.agentId);
    if (this.#open.get(session.editorId) !== session) return;
    this.#open.delete(session.editorId);
    this.onClose?.(session);
  }

  /** Whether that id is an open or remembered session's, of whichever agent's process. */
  isGiven(editorId: string): boolean {
    return this.#open.has(editorId) || this.#records.has(editorId);
  }

  /** What is remembered of the session with that id, opened by this or another process. */
  recall(editorId: string): SessionRecord | undefined {
    if (!this.#records.has(editorId)) this.#read();
    return this.#records.get(editorId);
  }

  /**
   * An editor's id for a session that an agent has just made: derived from what names the session, so
   * that it is the same in every process. Where that stands for an earlier session already, because the
   * agent counts anew in each process, it is random.
   */
  idForNew(agentId: string, root: string, cwd: string): string {
    this.#read();
    const derived = this.#derive(agentId, root);
    const isTaken = this.#records.has(derived) || this.#open.has(derived);
    return this.#remember(isTaken ? v4() : derived, agentId, root, cwd);
  }

  /** The editor's id for a session that an agent says it has: the one given last, else a derived one. */
  idForKnown(agentId: string, root: string, cwd: string): string {
    const known = this.#givenFor(agentId, cwd);
    if (known !== undefined) return known;
    this.#read();
    return this.#givenFor(agentId, cwd) ?? this.#remember(this.#derive(agentId, root), agentId, root, cwd);
  }

  /** The session is used: it is remembered from now on for as long as a new one. */
  touch(editorId: string): void {
    const record = this.#records.get(editorId);
    if (record === undefined || Date.now() - Date.parse(record.at) < touchMs) return;
    this.#remember(record.id, record.agentId, record.root, record.cwd);
  }

  /** The session is gone for good. */
  forget(editorId: string): void {
    const record = this.#records.get(editorId);
    if (record === undefined) return;
    this.#records.delete(editorId);
    this.#given.set(record.agentId, this.#others(record));
    this.file?.append({ id: editorId, gone: true });
  }

  #givenFor(agentId: string, cwd: string): string | undefined {
    return this.#given.get(agentId)?.find((id) => isInside(cwd, this.#records.get(id)!.root));
  }

  #derive(agentId: string, root: string): string {
    return v5(JSON.stringify([this.agent, root, agentId]), namespace);
  }

  #remember(id: string, agentId: string, root: string, cwd: string): string {
    if (this.#records.size >= maxRecords) return id;
    const record = { id, agent: this.agent, agentId, root, cwd, at: new Date().toISOString() };
    this.#keep(record);
    this.file?.append(record);
    return id;
  }

  #read(): void {
    for (const record of this.file?.load()?.values() ?? []) {
      if (record.agent === this.agent) this.#keep(record);
    }
  }

  #keep(record: SessionRecord): void {
    this.#records.set(record.id, record);
    this.#given.set(record.agentId, [record.id, ...this.#others(record)]);
  }

  /** The ids given for the same agent's id, without that of the record. */
  #others({ id, agentId }: SessionRecord): string[] {
    return (this.#given.get(agentId) ?? []).filter((other) => other !== id);
  }
}
