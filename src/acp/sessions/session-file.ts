/**
 * The session table on disk: one JSON record a line, appended; the last one of an id wins. Several
 * processes may use it at once. It is a help and never a condition: whatever is wrong with it is logged
 * and the proxy goes on without.
 */
import { type Stats, appendFileSync, fstatSync, readdirSync, readSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { messageOf } from '../../errors';
import type { Log } from '../../system/log';
import { ProcessLocks, type Lock } from '../../system/process-lock';
import { replaceFile } from '../../system/files/replace-file';
import { stateRemedy } from '../../system/state-folder';
import { appendLines } from '../../system/files/json-lines';
import { withFile } from '../../system/files/open-file';
import { makeFolder } from '../../system/files/make-folder';
import { SessionIndex } from './session-index';
import { type GoneRecord, type SessionRecord, lineOf, parseLine } from './session-record';

/** Lines beyond which the file is compacted, if most of them are outdated. */
const compactAboveLines = 1_000;
/** Of a longer file only the end is read, and kept by the compaction that follows; in bytes. */
const maxReadBytes = 16 * 1024 * 1024;
/** A compaction leaves less than that, so that not each record after it brings the next. */
const maxKeptBytes = 12 * 1024 * 1024;
/** How long the note that a session is gone outlives a compaction, for processes that still know the session. */
const keepGoneMs = 24 * 60 * 60 * 1_000;

/** What `replaceFile` calls a file until it is whole. */
const isDraft = /\.[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

export class SessionFile {
  /** The sessions that are gone for good, as of the last `load` or `news`. */
  gone: ReadonlySet<string> = new Set();
  /** Up to where the file is known, and which file that was. */
  #size = -1;
  #ino = -1;
  /** Of what stood in the file at the first call of `news`, until it is loaded. */
  #past: SessionIndex | undefined;
  #isLoaded = false;
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
    this.#isLoaded = true;
    return this.#look(({ size, ino }) => {
      if (size === this.#size && ino === this.#ino && this.#past === undefined) return undefined;
      const { records, gone, end, isOutdated } = withFile(this.path, 'r', (file) => this.#read(file));
      this.#know(end, ino);
      this.#past = undefined;
      this.gone = new Set(gone.keys());
      if (isOutdated) this.#try('compacted', () => this.alone(() => this.#compact()));
      return records;
    });
  }

  /**
   * The records that were added since the last call or `load`; undefined when none were. What stood in the file at the
   * first call is only given by `past` and `load`.
   */
  news(): Map<string, SessionRecord> | undefined {
    return this.#look(({ size, ino }) => {
      if (size === this.#size && ino === this.#ino) return undefined;
      if (!this.#isLoaded && this.#size < 0 && size <= maxReadBytes) {
        const bytes = withFile(this.path, 'r', (file) => wholeLines(readFrom(file, 0)));
        const index = new SessionIndex(bytes, compactAboveLines);
        if (index.isOutdated || this.#isTooOld(index.oldest)) return this.load();
        this.#past = index;
        this.#know(bytes.length, ino);
        return undefined;
      }
      if (size < this.#size || ino !== this.#ino) return this.load();
      const bytes = withFile(this.path, 'r', (file) => wholeLines(readFrom(file, this.#size)));
      const { records, gone } = this.#recordsIn(linesOf(bytes));
      // What they have deleted is to be gone from the file.
      if (gone.size > 0) return this.load();
      this.#know(this.#size + bytes.length, ino);
      return records;
    });
  }

  /** What was remembered of a session at the first call of `news`, unless that was given by `load`. */
  past(id: string): SessionRecord | undefined {
    const record = this.#past?.find(id);
    return this.#isTooOld(record) ? undefined : record;
  }

  /** What `action` makes of the file as it is now; `undefined` where there is no file. */
  #look<T>(action: (stat: Stats) => T | undefined): T | undefined {
    this.flush();
    return this.#try('read', () => {
      const stat = statSync(this.path, { throwIfNoEntry: false });
      if (stat === undefined) return undefined;
      if (!stat.isFile()) throw new Error('not a file');
      return action(stat);
    });
  }

  #know(size: number, ino: number): void {
    [this.#size, this.#ino] = [size, ino];
  }

  #isTooOld(record: SessionRecord | undefined): boolean {
    return record !== undefined && Date.parse(record.at) < Date.now() - this.keepMs;
  }

  /**
   * Adds a record, or the note that the session `id` is gone; it is written before the next I/O. Of several for
   * one session the last one is.
   */
  append(record: SessionRecord | Omit<GoneRecord, 'at'>): void {
    if (this.#pending.size === 0) queueMicrotask(() => this.flush());
    const isGone = 'gone' in record;
    if (isGone) this.#past?.delete(record.id);
    const line = isGone ? { ...record, at: new Date().toISOString() } : record;
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
      const wasKnown = (size === this.#size && ino === this.#ino) || (this.#size < 0 && size === 0);
      if (wasKnown && fstatSync(file).size === size + bytes) this.#know(size + bytes, ino);
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
      const { records, gone, end } = this.#read(old);
      replaceFile(this.path, lastOf([...records.values(), ...gone.values()].map(lineOf)));
      // Lines that others wrote to the old file until the rename; later writers see that it is gone.
      const late = readFrom(old, end);
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

  /** What counts in the file, or in its end if it is too long, up to `end`; `isOutdated`: a compaction is due. */
  #read(file: number) {
    const from = Math.max(fstatSync(file).size - maxReadBytes, 0);
    const bytes = readFrom(file, from);
    const lines = linesOf(bytes);
    const { records, gone, hasRemains } = this.#recordsIn(lines);
    const isMostlyOld = lines.length > compactAboveLines && lines.length > 2 * (records.size + gone.size);
    return {
      records,
      gone,
      end: from + wholeLines(bytes).length,
      isOutdated: from > 0 || hasRemains || isMostlyOld,
    };
  }

  /**
   * Of each session the last record, none that has not been used for too long. `hasRemains`: one that is to be forgotten
   * stands there.
   */
  #recordsIn(lines: readonly string[]) {
    const records = new Map<string, SessionRecord>();
    const gone = new Map<string, GoneRecord>();
    let hasRemains = false;
    for (const value of lines.map(parseLine)) {
      if (value === undefined) continue;
      // Deleted first, so that the order is that of the last change.
      const wasKnown = records.delete(value.id);
      gone.delete(value.id);
      if (!('gone' in value)) records.set(value.id, value);
      else gone.set(value.id, value);
      hasRemains ||= wasKnown && 'gone' in value;
    }
    for (const record of records.values()) {
      if (this.#isTooOld(record)) hasRemains = records.delete(record.id);
    }
    for (const { id, at = '' } of gone.values()) {
      if (!(Date.parse(at) >= Date.now() - keepGoneMs)) gone.delete(id);
    }
    return { records, gone, hasRemains };
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

function readFrom(file: number, from: number): Buffer {
  const bytes = Buffer.allocUnsafe(Math.max(fstatSync(file).size - from, 0));
  return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, from));
}

/** Without what stands behind the last line end: it may still be being written. */
function wholeLines(bytes: Buffer): Buffer {
  return bytes.subarray(0, bytes.lastIndexOf('\n') + 1);
}

function linesOf(bytes: Buffer): string[] {
  return bytes
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '');
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
