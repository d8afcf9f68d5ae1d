/**
 * The session table on disk: one JSON record a line, appended; the last one of an id wins. Several
 * processes may use it at once. It is a help and never a condition: whatever is wrong with it is logged
 * and the proxy goes on without.
 */
import { appendFileSync, fstatSync, readdirSync, readSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { messageOf } from '../../errors';
import type { Log } from '../../system/log';
import { ProcessLocks, type Lock } from '../../system/process-lock';
import { replaceFile } from '../../system/files/replace-file';
import { stateRemedy } from '../../system/state-folder';
import { appendLines } from '../../system/files/json-lines';
import { withFile } from '../../system/files/open-file';
import { objectIn } from '../../system/unless';
import { makeFolder } from '../../system/files/make-folder';

/** Lines beyond which the file is compacted, if most of them are outdated. */
const compactAboveLines = 1_000;
/** Of a longer file only the end is read, and kept by the compaction that follows; in bytes. */
const maxReadBytes = 16 * 1024 * 1024;
/** A compaction leaves less than that, so that not each record after it brings the next. */
const maxKeptBytes = 12 * 1024 * 1024;
/** How long the note that a session is gone outlives a compaction, for processes that still know the session. */
const keepGoneMs = 24 * 60 * 60 * 1_000;

/** What is remembered of one session, as a line of the file. */
export interface SessionRecord {
  /** Its id on the editor's side. */
  readonly id: string;
  readonly agent: string;
  /** Its id on the agent's side. */
  readonly agentId: string;
  /** Real path of the workspace's root. */
  readonly root: string;
  /** Its working directory as the editor spelled it. */
  readonly cwd: string;
  /** When this was written, ISO 8601. */
  readonly at: string;
  readonly title?: string | undefined;
  /** Its last activity, ISO 8601. Absent: it was never used, or it is only a part of another session. */
  readonly updatedAt?: string | undefined;
  /** The proxy that has it open, as `ownIdentity` names processes. It stays there if that process is killed. */
  readonly openBy?: string | undefined;
}

/** The note that the session with that id is gone for good. */
interface GoneRecord {
  readonly id: string;
  readonly gone: true;
  readonly at?: string;
}

/** What `replaceFile` calls a file until it is whole. */
const isDraft = /\.[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/** The members of a `SessionRecord`, all of them texts. */
const needed = ['id', 'agent', 'agentId', 'root', 'cwd', 'at'] as const;
const members = [...needed, 'title', 'updatedAt', 'openBy'] as const;

/** The records of one file. */
export class SessionFile {
  /** The sessions that are gone for good, as of the last `load`. */
  gone: ReadonlySet<string> = new Set();
  /** How long the file was when all of it was known. */
  #size = -1;
  /** Lines by session that are still to be appended. */
  readonly #pending = new Map<string, string>();
  /** What has failed and was logged. */
  readonly #told = new Set<string>();

  /** `path`: the file, made when first written. `keepMs`: how long a record counts after its last use. */
  constructor(
    private readonly path: string,
    private readonly keepMs: number,
    private readonly log: Log,
  ) {}

  /** All records by id, in the order of the last changes; undefined when nothing changed since the last call. */
  load(): Map<string, SessionRecord> | undefined {
    this.flush();
    return this.#try('read', () => {
      const stat = statSync(this.path, { throwIfNoEntry: false });
      if (stat === undefined) return undefined;
      if (!stat.isFile()) throw new Error('not a file');
      if (stat.size === this.#size) return undefined;
      const { records, gone, size, isOutdated } = withFile(this.path, 'r', (file) => this.#read(file));
      this.#size = size;
      if (isOutdated) this.#try('compacted', () => this.alone(() => this.#compact()));
      this.gone = new Set(gone.keys());
      return records;
    });
  }

  /**
   * Adds a record, or the note that the session `id` is gone; it is written before the next I/O. Of several for
   * one session the last one is.
   */
  append(record: SessionRecord | Omit<GoneRecord, 'at'>): void {
    if (this.#pending.size === 0) queueMicrotask(() => this.flush());
    const line = 'gone' in record ? { ...record, at: new Date().toISOString() } : record;
    // Deleted first, so that the order is that of the last change.
    this.#pending.delete(record.id);
    this.#pending.set(record.id, lineOf(line));
  }

  /** Writes what is still to be appended, so that it is there before anybody is told of it. */
  flush(): void {
    if (this.#pending.size === 0) return;
    const lines = [...this.#pending.values()].join('');
    this.#pending.clear();
    this.#try('written', () => {
      makeFolder(dirname(this.path));
      // A compaction may have put another file in place while these lines went to the old one.
      for (let round = 0; round < 3 && !this.#appendOnce(lines); round++);
    });
  }

  #appendOnce(lines: string): boolean {
    return withFile(this.path, 'a+', (file) => {
      const { size, ino } = fstatSync(file);
      const bytes = appendLines(file, lines);
      // What nobody else has changed need not be read again.
      if (size === Math.max(this.#size, 0)) this.#size = size + bytes;
      return ino === statSync(this.path, { throwIfNoEntry: false })?.ino;
    });
  }

  /**
   * What `action` returns, done while no other process does the same or compacts the file; undefined if one does,
   * and it is not done.
   */
  alone<T>(action: () => T): T | undefined {
    let lock: Lock | undefined;
    try {
      lock = new ProcessLocks(dirname(this.path)).tryTake(basename(this.path));
    } catch {
      // Where nothing can be written, nobody else does either.
      return action();
    }
    if (lock === undefined) return undefined;
    try {
      return action();
    } finally {
      lock.release();
    }
  }

  /** Rewrites the file without what is outdated. */
  #compact(): void {
    this.#removeDrafts();
    withFile(this.path, 'r', (old) => {
      const { records, gone, size } = this.#read(old);
      replaceFile(this.path, lastOf([...records.values(), ...gone.values()].map(lineOf)));
      // Lines that others wrote to the old file until the rename; later writers see that it is gone.
      const late = readFrom(old, size);
      if (late.length > 0) appendFileSync(this.path, late);
    });
  }

  /** What compactions have left that were killed: no other is under way. */
  #removeDrafts(): void {
    const folder = dirname(this.path);
    const drafts = readdirSync(folder).filter(
      (name) => name.startsWith(`${basename(this.path)}.`) && isDraft.test(name),
    );
    for (const name of drafts) rmSync(join(folder, name), { force: true });
  }

  /**
   * What counts in the file, or in its end if it is too long: of each session the last record, none that has not been
   * used for too long. `isOutdated`: most lines do not count, or one that is to be forgotten still stands there.
   */
  #read(file: number) {
    const from = Math.max(fstatSync(file).size - maxReadBytes, 0);
    const bytes = readFrom(file, from);
    const lines = bytes
      .toString('utf8')
      .split('\n')
      .filter((line) => line !== '');
    const records = new Map<string, SessionRecord>();
    const gone = new Map<string, GoneRecord>();
    let hasRemains = from > 0;
    for (const value of lines.map(parseLine)) {
      if (value === undefined) continue;
      // Deleted first, so that the order is that of the last change.
      const wasKnown = records.delete(value.id);
      gone.delete(value.id);
      if (!('gone' in value)) records.set(value.id, value);
      else gone.set(value.id, value);
      hasRemains ||= wasKnown && 'gone' in value;
    }
    for (const { id, at } of records.values()) {
      if (Date.parse(at) < Date.now() - this.keepMs) hasRemains = records.delete(id);
    }
    for (const { id, at = '' } of gone.values()) {
      if (!(Date.parse(at) >= Date.now() - keepGoneMs)) gone.delete(id);
    }
    const isMostlyOld = lines.length > compactAboveLines && lines.length > 2 * (records.size + gone.size);
    return { records, gone, size: from + bytes.length, isOutdated: hasRemains || isMostlyOld };
  }

  /** Does something with the file; what fails is logged once. */
  #try<T>(done: string, action: () => T): T | undefined {
    try {
      return action();
    } catch (error) {
      const remedy = stateRemedy(dirname(this.path));
      const about = { file: this.path, reason: messageOf(error), remedy };
      if (!this.#told.has(done)) this.log.warn(about, `session table could not be ${done}`);
      this.#told.add(done);
      return undefined;
    }
  }
}

/** When a session was used last, as far as that is known: milliseconds since 1970. */
export function lastUseOf({ updatedAt, at }: SessionRecord): number {
  return Date.parse(updatedAt ?? at) || 0;
}

function lineOf(record: SessionRecord | GoneRecord): string {
  return `${JSON.stringify(record)}\n`;
}

/** Undefined for a line that is damaged or of another version. */
function parseLine(line: string): SessionRecord | GoneRecord | undefined {
  const value = objectIn(line);
  const texts = members.map((name) => [name, value?.[name]]).filter(([, text]) => typeof text === 'string');
  const record = Object.fromEntries(texts) as unknown as SessionRecord;
  if ('id' in record && value?.gone === true) return { id: record.id, gone: true, at: record.at };
  return needed.every((name) => name in record) ? record : undefined;
}

function readFrom(file: number, from: number): Buffer {
  const bytes = Buffer.allocUnsafe(Math.max(fstatSync(file).size - from, 0));
  return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, from));
}

/** The lines at the end that are not too much, in one text. */
function lastOf(lines: readonly string[]): string {
  let first = lines.length;
  for (let bytes = 0; first > 0; first--) {
    bytes += Buffer.byteLength(lines[first - 1]!);
    if (bytes > maxKeptBytes) break;
  }
  return lines.slice(first).join('');
}
