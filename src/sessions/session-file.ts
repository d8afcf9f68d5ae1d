/**
 * The session table on disk: one JSON record a line, appended; the last one of an id wins. Several
 * processes may use it at once. It is a help and never a condition: whatever is wrong with it is logged
 * and the proxy goes on without.
 */
import {
  appendFileSync,
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname } from 'node:path';
import { messageOf } from '../errors';
import type { Log } from '../system/log';
import { ProcessLocks } from '../system/process-lock';
import type { Lock } from '../system/process-lock';
import { stateRemedy } from '../system/state-folder';
import { parseLines } from './session-record';
import type { GoneRecord, SessionLines, SessionRecord } from './session-record';
import { endsWhole } from '../system/whole-lines';

/** Lines beyond which the file is compacted, if most of them are outdated. */
const compactAboveLines = 1_000;
/** Of a longer file the end is read, and kept by the compaction that follows; in bytes. */
const maxReadBytes = 16 * 1024 * 1024;
/** A compaction leaves less than that, so that not each record after it brings the next. */
const maxKeptBytes = 12 * 1024 * 1024;
/** How long the note that a session is gone outlives a compaction, for processes that still know the session. */
const keepGoneMs = 24 * 60 * 60 * 1_000;

/** The records of one file. */
export class SessionFile {
  /** How long the file was when all of it was known. */
  #size = -1;
  /** Lines by session that are still to be appended, in one go when the message that they come from is done. */
  readonly #pending = new Map<string, string>();
  #gone: ReadonlySet<string> = new Set();
  /** What was wrong with the file and has been told. */
  readonly #told = new Set<string>();

  /**
   * `path`: the file, made when first written, readable by its owner alone. `keepMs`: how long a record counts
   * after its last use.
   */
  constructor(
    private readonly path: string,
    private readonly keepMs: number,
    private readonly log: Log,
  ) {}

  /** The sessions that are gone for good, as of the last `load`. */
  get gone(): ReadonlySet<string> {
    return this.#gone;
  }

  /** All records by id; undefined when nothing changed since the last call. */
  load(): Map<string, SessionRecord> | undefined {
    this.flush();
    try {
      const stat = statSync(this.path);
      if (!stat.isFile()) throw new Error('not a file');
      if (stat.size === this.#size) return undefined;
      const { bytes, size } = readEnd(this.path);
      this.#size = size;
      const lines = this.#parse(bytes);
      if (bytes.length < size || isWorthCompacting(lines)) this.#compact();
      this.#gone = new Set(lines.gone.keys());
      return lines.records;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.#warn('could not be read', error);
      return undefined;
    }
  }

  /**
   * Adds a record, or the note that the session `id` is gone; it is written before the next I/O. Of several for
   * one session the last one is.
   */
  append(record: SessionRecord | GoneRecord): void {
    if (this.#pending.size === 0) queueMicrotask(() => this.flush());
    const line = 'gone' in record ? { ...record, at: new Date().toISOString() } : record;
    // Deleted first, so that the order is that of the last change.
    this.#pending.delete(record.id);
    this.#pending.set(record.id, `${JSON.stringify(line)}\n`);
  }

  /** Writes what is still to be appended, so that it is there before anybody is told of it. */
  flush(): void {
    if (this.#pending.size === 0) return;
    const lines = [...this.#pending.values()].join('');
    this.#pending.clear();
    try {
      // A compaction may have put another file in place while these lines went to the old one.
      for (let round = 0; round < 3 && !this.#appendOnce(lines); round++);
    } catch (error) {
      this.#warn('could not be written', error);
    }
  }

  #appendOnce(lines: string): boolean {
    const file = this.#open(this.path, 'a+');
    try {
      const { size, ino } = fstatSync(file);
      const text = endsWhole(file, size) ? lines : `\n${lines}`;
      appendFileSync(file, text);
      // What nobody else has changed need not be read again.
      if (size === Math.max(this.#size, 0)) this.#size = size + Buffer.byteLength(text);
      return ino === statSync(this.path, { throwIfNoEntry: false })?.ino;
    } finally {
      closeSync(file);
    }
  }

  /** Opens the file or one beside it, for its owner alone, in a folder that is made if need be. */
  #open(path: string, flags: string): number {
    try {
      return openSync(path, flags, 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      return openSync(path, flags, 0o600);
    }
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

  /** Rewrites the file without what is outdated, unless another process is at it: one that stays long is no harm. */
  #compact(): void {
    this.alone(() => {
      try {
        this.#rewrite();
      } catch (error) {
        this.#warn('could not be compacted', error);
        removeIfThere(`${this.path}.new`);
      }
    });
  }

  #rewrite(): void {
    const { bytes, size } = readEnd(this.path);
    const old = openSync(this.path, 'r');
    try {
      const { records, gone } = this.#parse(bytes);
      const lines = [...records.values(), ...gone.values()].map((record) => `${JSON.stringify(record)}\n`);
      writeFileSync(`${this.path}.new`, lastOf(lines), { mode: 0o600 });
      renameSync(`${this.path}.new`, this.path);
      // Lines that others wrote to the old file until the rename; later writers see that it is gone.
      const late = readFrom(old, size);
      if (late.length > 0) appendFileSync(this.path, late);
    } finally {
      closeSync(old);
    }
  }

  /** What counts: of each session the last record, none that has not been used for too long. */
  #parse(bytes: Buffer): SessionLines {
    const lines = parseLines(bytes.toString('utf8'));
    let { hasRemains } = lines;
    for (const { id, at } of lines.records.values()) {
      if (Date.parse(at) < Date.now() - this.keepMs) hasRemains = lines.records.delete(id);
    }
    for (const { id, at = '' } of lines.gone.values()) {
      if (!(Date.parse(at) >= Date.now() - keepGoneMs)) lines.gone.delete(id);
    }
    return { ...lines, hasRemains };
  }

  #warn(what: string, error: unknown): void {
    if (this.#told.has(what)) return;
    this.#told.add(what);
    const remedy = stateRemedy(dirname(this.path));
    this.log.warn({ file: this.path, reason: messageOf(error), remedy }, `session table ${what}`);
  }
}

/** What nobody asks for any more takes most of the file, or is about sessions that are to be forgotten. */
function isWorthCompacting({ records, gone, lineCount, hasRemains }: SessionLines): boolean {
  return hasRemains || (lineCount > compactAboveLines && lineCount > 2 * (records.size + gone.size));
}

/** The end of a file, and the size of all of it. */
function readEnd(path: string): { bytes: Buffer; size: number } {
  const file = openSync(path, 'r');
  try {
    const from = Math.max(fstatSync(file).size - maxReadBytes, 0);
    const bytes = readFrom(file, from);
    return { bytes, size: from + bytes.length };
  } finally {
    closeSync(file);
  }
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

/** What is left of a compaction that failed takes room, which may be why it failed. */
function removeIfThere(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // Something else has that name; it is not ours to remove.
  }
}
