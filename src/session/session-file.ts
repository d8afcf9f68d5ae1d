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
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { messageOf } from '../errors';
import type { Log } from '../log';

/** What is remembered of a session beyond the process that opened it. */
export interface SessionRecord {
  /** Its id on the editor's side. */
  readonly id: string;
  /** Name of the agent. */
  readonly agent: string;
  /** Its id on the agent's side. */
  readonly agentId: string;
  /** Real path of the workspace's root. */
  readonly root: string;
  /** Its working directory as the editor spelled it. */
  readonly cwd: string;
  /** When this was written, ISO 8601. */
  readonly at: string;
}

/** Age at which a lock counts as left behind, in milliseconds; a compaction takes a few. */
const staleLockMs = 60_000;
/** Lines beyond which the file is compacted, if most of them are outdated. */
const compactAboveLines = 1_000;

/** The records of one file. */
export class SessionFile {
  /** How long the file was when all of it was known. */
  #size = -1;
  /** Lines that are still to be appended, in one go when the message that they come from is done. */
  #pending: string[] = [];

  /**
   * `path`: the file, made when first written, readable by its owner alone. `keepMs`: how long a record counts
   * after its last use.
   */
  constructor(
    private readonly path: string,
    private readonly keepMs: number,
    private readonly log: Log,
  ) {}

  /** All records by id; undefined when nothing changed since the last call. */
  load(): Map<string, SessionRecord> | undefined {
    this.#flush();
    try {
      const { size } = statSync(this.path);
      if (size === this.#size) return undefined;
      const bytes = readFileSync(this.path);
      this.#size = bytes.length;
      const { records, lineCount } = this.#parse(bytes);
      if (lineCount > compactAboveLines && lineCount > 2 * records.size) this.#compact();
      return records;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.#warn('could not be read', error);
      return undefined;
    }
  }

  /** Adds a record, or the note that the session `id` is gone; it is written before the next I/O. */
  append(record: SessionRecord | { readonly id: string; readonly gone: true }): void {
    if (this.#pending.length === 0) queueMicrotask(() => this.#flush());
    this.#pending.push(`${JSON.stringify(record)}\n`);
  }

  #flush(): void {
    if (this.#pending.length === 0) return;
    const lines = this.#pending.join('');
    this.#pending = [];
    try {
      mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
      // A compaction may have put another file in place while these lines went to the old one.
      for (let round = 0; round < 3 && !this.#appendOnce(lines); round++);
    } catch (error) {
      this.#warn('could not be written', error);
    }
  }

  #appendOnce(lines: string): boolean {
    const file = openSync(this.path, 'a+', 0o600);
    try {
      const { size } = fstatSync(file);
      const text = isWhole(file, size) ? lines : `\n${lines}`;
      appendFileSync(file, text);
      // What nobody else has changed need not be read again.
      if (size === Math.max(this.#size, 0)) this.#size = size + Buffer.byteLength(text);
      return fstatSync(file).ino === statSync(this.path, { throwIfNoEntry: false })?.ino;
    } finally {
      closeSync(file);
    }
  }

  /** Rewrites the file without what is outdated. Only one process does so at a time. */
  #compact(): void {
    const lock = `${this.path}.lock`;
    try {
      // One that is left of a process that died at it.
      if (Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Infinity) > staleLockMs)
        rmSync(lock);
      closeSync(openSync(lock, 'wx', 0o600));
    } catch {
      // Another process is at it, or died at it: a file that stays long is no harm.
      return;
    }
    try {
      this.#rewrite();
    } catch (error) {
      this.#warn('could not be compacted', error);
    } finally {
      rmSync(lock, { force: true });
    }
  }

  #rewrite(): void {
    const old = openSync(this.path, 'r');
    try {
      const before = readFileSync(this.path);
      const { records } = this.#parse(before);
      const lines = [...records.values()].map((record) => `${JSON.stringify(record)}\n`);
      writeFileSync(`${this.path}.new`, lines.join(''), { mode: 0o600 });
      renameSync(`${this.path}.new`, this.path);
      // Lines that others wrote to the old file until the rename; later writers see that it is gone.
      const late = readFileSync(old).subarray(before.length);
      if (late.length > 0) appendFileSync(this.path, late);
    } finally {
      closeSync(old);
    }
  }

  /** The records that count: of each id the last one, none that has not been used for too long. */
  #parse(bytes: Buffer): { records: Map<string, SessionRecord>; lineCount: number } {
    const { records, lineCount } = parse(bytes.toString('utf8'));
    for (const { id, at } of records.values()) {
      if (Date.parse(at) < Date.now() - this.keepMs) records.delete(id);
    }
    return { records, lineCount };
  }

  #warn(what: string, error: unknown): void {
    this.log.warn({ file: this.path, reason: messageOf(error) }, `session table ${what}`);
  }
}

/** Whether the last line has its end: a crash or a full disk can cut a record short. */
function isWhole(file: number, size: number): boolean {
  const last = Buffer.alloc(1, '\n');
  readSync(file, last, 0, 1, Math.max(size - 1, 0));
  return last.toString() === '\n';
}

function parse(text: string): { records: Map<string, SessionRecord>; lineCount: number } {
  const records = new Map<string, SessionRecord>();
  const lines = text.split('\n').filter((line) => line !== '');
  for (const line of lines) {
    const value = parseLine(line);
    if (value === undefined) continue;
    // Deleted first, so that the order is that of the last change.
    records.delete(value.id);
    if (!('gone' in value)) records.set(value.id, value);
  }
  return { records, lineCount: lines.length };
}

/** A record, or undefined for a line that is damaged or of another version. */
function parseLine(line: string): SessionRecord | { id: string; gone: true } | undefined {
  try {
    const value = JSON.parse(line) as Record<string, unknown> | null;
    if (typeof value?.id !== 'string') return undefined;
    if (value.gone === true) return { id: value.id, gone: true };
    const { id, agent, agentId, root, cwd, at } = value;
    const texts = [agent, agentId, root, cwd, at];
    if (!texts.every((text) => typeof text === 'string')) return undefined;
    const [agentName, agentSession, rootPath, cwdPath, time] = texts as [
      string,
      string,
      string,
      string,
      string,
    ];
    return { id, agent: agentName, agentId: agentSession, root: rootPath, cwd: cwdPath, at: time };
  } catch {
    return undefined;
  }
}
