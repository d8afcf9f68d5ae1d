/** Records of turns on disk: one JSON object a line, in a file for each month. Several processes may write at once. */
import * as fs from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { messageOf } from '../../errors';
import type { Log } from '../../system/log';
import { stateRemedy } from '../../system/state-folder';
import { appendLines, readLines } from '../../system/files/json-lines';
import { withFile } from '../../system/files/open-file';
import { objectOf, unlessGone } from '../../system/unless';
import { makeFolder } from '../../system/files/make-folder';

/** What tokens are spent on; `total` is the agent's own sum. */
export const tokenKinds = ['input', 'output', 'cachedRead', 'cachedWrite', 'thought', 'total'] as const;

/** Tokens by what they were spent on. Cached ones are counted in `input` or beside it, as the agent does. */
export type TokenCounts = Readonly<Record<(typeof tokenKinds)[number], number>>;

/** Money, or another unit in which an agent counts costs. */
export interface Cost {
  /** How much, in units of the currency. */
  readonly amount: number;
  /** ISO 4217, or another word such as `credits`. */
  readonly currency: string;
}

/**
 * The numbers that sums add up. `turns` is 1, or 0 for what was spent outside of turns. `timedTools` are the tool calls
 * whose duration is known, and `toolMs` the sum of these durations, waiting for a permission included.
 */
export const countedFields = ['turns', 'durationMs', 'tools', 'failedTools', 'timedTools', 'toolMs'] as const;

/** One turn, or what a session has cost outside of its turns. */
export interface UsageRecord extends Readonly<Record<(typeof countedFields)[number], number>> {
  /** When it ended, ISO 8601. */
  readonly at: string;
  /** The session's id on the editor's side. */
  readonly session: string;
  readonly agent: string;
  /** Real path of the workspace's root; empty without one. */
  readonly root: string;
  /** Stop reason, or `error`, or `ended` when the session or its agent ended first. */
  readonly stop: string;
  /** `undefined`: the agent does not tell. */
  readonly tokens?: TokenCounts | undefined;
  /** The models that took part as far as the agent names them, with their part of the tokens. */
  readonly models: readonly { readonly model: string; readonly tokens?: TokenCounts }[];
  /** What the turn added to the session's cost. */
  readonly cost?: Cost | undefined;
  /** The session's cost so far, as the agent tells it. */
  readonly sessionCost?: Cost | undefined;
}

/** The part of a record that the result of a prompt tells. */
export type Spent = Pick<UsageRecord, 'stop' | 'tokens' | 'models'>;

/** A record before it is written. */
export type NewRecord = Omit<UsageRecord, 'at'>;

/** A file that has grown beyond this gets no more records. */
const maxFileBytes = 32 * 1024 * 1024;
/** How long a record waits for others that are written with it, in milliseconds. */
const gatherMs = 100;

export class UsageFile {
  /** Records that are not written yet, the oldest first, and when they were added. */
  readonly #waiting: { readonly atMs: number; readonly make: () => NewRecord }[] = [];
  #timer: NodeJS.Timeout | undefined;
  readonly #lookUps = new Set<Promise<unknown>>();
  #isTidy = false;
  #hasWarned = false;

  /** `folder` is made with the first record; months that ended more than `keepMs` ago are removed. */
  constructor(
    private readonly folder: string,
    private readonly keepMs: number,
    private readonly log: Log,
  ) {}

  /** Adds a record of what ends now, and writes it soon: no editor waits. Before this process exits, call `end`. */
  append(make: () => NewRecord): void {
    if (this.#waiting.length === 0) this.#timer = setTimeout(() => this.flush(), gatherMs).unref();
    this.#waiting.push({ atMs: Date.now(), make });
  }

  /** Writes at once all records that were added. */
  flush(): void {
    if (this.#waiting.length === 0) return;
    const waiting = this.#waiting.splice(0);
    clearTimeout(this.#timer);
    try {
      if (!this.#isTidy) this.#tidy();
      // A file is opened once for all of its records.
      const texts = new Map<string, string>();
      for (const { atMs, make } of waiting) {
        const name = nameOf(atMs);
        const line = JSON.stringify({ at: new Date(atMs).toISOString(), ...make() });
        texts.set(name, `${texts.get(name) ?? ''}${line}\n`);
      }
      for (const [name, text] of texts) this.#appendText(join(this.folder, name), text);
    } catch (error) {
      const remedy = stateRemedy(dirname(this.folder));
      this.#warn({ folder: this.folder, reason: messageOf(error), remedy }, 'usage could not be written');
    }
  }

  #appendText(path: string, text: string): void {
    withFile(path, 'a+', (file) => {
      if (fs.fstatSync(file).size < maxFileBytes) appendLines(file, text);
      else this.#warn({ file: path, maxBytes: maxFileBytes }, 'no more usage is written down this month');
    });
  }

  #warn(fields: object, message: string): void {
    if (!this.#hasWarned) this.log.warn(fields, message);
    this.#hasWarned = true;
  }

  /** Writes all, before the process exits; also records that are added only after a pending `costOf`. */
  async end(): Promise<void> {
    await Promise.all(this.#lookUps);
    await new Promise((resolve) => setImmediate(resolve));
    this.flush();
  }

  /** The session's cost in its last record of this month or the one before; `undefined`: no record has a cost. */
  costOf(session: string): Promise<Cost | undefined> {
    const lookUp = this.#lastCost(session).finally(() => this.#lookUps.delete(lookUp));
    this.#lookUps.add(lookUp);
    return lookUp;
  }

  async #lastCost(session: string): Promise<Cost | undefined> {
    this.flush();
    const names = await readdir(this.folder).catch(() => []);
    for (const name of monthsOf(names).slice(-2).reverse()) {
      const text = await readFile(join(this.folder, name), 'utf8').catch(() => '');
      const told = readLines(text, recordOf).findLast(
        (record) => record.session === session && record.sessionCost,
      );
      if (told !== undefined) return told.sessionCost;
    }
    return undefined;
  }

  /** Makes the folder, and removes the months that are too old. */
  #tidy(): void {
    makeFolder(this.folder);
    const oldest = nameOf(Date.now() - this.keepMs);
    for (const name of monthsOf(fs.readdirSync(this.folder)))
      if (name < oldest) fs.rmSync(join(this.folder, name), { force: true });
    this.#isTidy = true;
  }
}

/** The records in `folder` since that time, oldest first. Fails with the system's error if they cannot be read. */
export function readUsage(folder: string, sinceMs: number): UsageRecord[] {
  const all = unlessGone(() => fs.readdirSync(folder)) ?? [];
  const names = monthsOf(all).filter((name) => name >= nameOf(sinceMs));
  const records = names.flatMap((name) => readLines(fs.readFileSync(join(folder, name), 'utf8'), recordOf));
  return records.filter(({ at }) => Date.parse(at) >= sinceMs);
}

/** Name of the file for the month of a time, in UTC. Names sort by time. */
function nameOf(ms: number): string {
  return `${new Date(Math.max(ms, 0)).toISOString().slice(0, 7)}.ndjson`;
}

/** The names of months' files among `names`, the oldest first. */
function monthsOf(names: readonly string[]): string[] {
  return names.filter((name) => /^\d{4}-\d{2}\.ndjson$/.test(name)).sort();
}

function recordOf(value: Readonly<Record<string, unknown>>): UsageRecord | undefined {
  return isRecord(value) ? value : undefined;
}

function isRecord(value: unknown): value is UsageRecord {
  const { tokens, cost, sessionCost, models } = objectOf(value);
  return (
    has(value, 'string', 'at', 'session', 'agent', 'root', 'stop') &&
    has(value, 'number', ...countedFields) &&
    areTokens(tokens) &&
    [cost, sessionCost].every(isCost) &&
    Array.isArray(models) &&
    models.every((each) => has(each, 'string', 'model') && areTokens(objectOf(each).tokens))
  );
}

/** `undefined` counts as well: not every agent tells a cost. */
function isCost(value: unknown): boolean {
  return value === undefined || (has(value, 'number', 'amount') && has(value, 'string', 'currency'));
}

function areTokens(value: unknown): boolean {
  return value === undefined || has(value, 'number', ...tokenKinds);
}

function has(value: unknown, type: 'string' | 'number', ...names: readonly string[]): boolean {
  const fields = objectOf(value);
  return names.every((name) =>
    type === 'number' ? Number.isFinite(fields[name]) : typeof fields[name] === type,
  );
}
