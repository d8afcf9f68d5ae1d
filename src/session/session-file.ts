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

/** Lines beyond which the file is compacted, if most of them are outdated. */
const compactAboveLines = 1_000;

/** The records of one file. */
export class SessionFile {
  #size = -1;

  /** `path`: the file, made when first written, readable by its owner alone. */
  constructor(
    private readonly path: string,
    private readonly log: Log,
  ) {}

  /** All records by id; undefined when nothing changed since the last call. */
  load(): Map<string, SessionRecord> | undefined {
    try {
      const { size } = statSync(this.path);
      if (size === this.#size) return undefined;
      const text = readFileSync(this.path, 'utf8');
      this.#size = Buffer.byteLength(text);
      const { records, lineCount } = parse(text);
      if (lineCount > compactAboveLines && lineCount > 2 * records.size) this.#compact();
      return records;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.#warn('could not be read', error);
      return undefined;
    }
  }

  /** Adds a record, or the note that the session `id` is gone. */
  append(record: SessionRecord | { readonly id: string; readonly gone: true }): void {
    const line = `${JSON.stringify(record)}\n`;
    try {
      mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
      // A compaction may have put another file in place while this line went to the old one.
      while (!this.#appendOnce(line));
    } catch (error) {
      this.#warn('could not be written', error);
    }
  }

  #appendOnce(line: string): boolean {
    const file = openSync(this.path, 'a+', 0o600);
    try {
      appendFileSync(file, isWhole(file) ? line : `\n${line}`);
      return fstatSync(file).ino === statSync(this.path, { throwIfNoEntry: false })?.ino;
    } finally {
      closeSync(file);
    }
  }

  /** Rewrites the file without what is outdated. Only one process does so at a time. */
  #compact(): void {
    const lock = `${this.path}.lock`;
    try {
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
      const { records } = parse(before.toString('utf8'));
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

  #warn(what: string, error: unknown): void {
    this.log.warn({ file: this.path, reason: messageOf(error) }, `session table ${what}`);
  }
}

/** Whether the last line has its end: a crash or a full disk can cut a record short. */
function isWhole(file: number): boolean {
  const { size } = fstatSync(file);
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
