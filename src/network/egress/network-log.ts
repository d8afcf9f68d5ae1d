/**
 * Which hosts a workspace's commands have asked for, kept for `cai network log`: one JSON object a line. Several
 * processes may write at once. A disk that is full costs lines and nothing else.
 */
import { readFileSync, renameSync, statSync } from 'node:fs';
import { posix } from 'node:path';
import { appendLines, readLines } from '../../system/files/json-lines';
import { withFile } from '../../system/files/open-file';
import { ProcessLocks } from '../../system/process-lock';
import { recordName } from '../../system/state-folder';
import { networkFolder } from './decisions';
import { unlessFails, unlessGone } from '../../system/unless';
import { makeFolder } from '../../system/files/make-folder';

/** What became of a connection. After `allowed` comes `connected` or `failed`; `ended`: it was open, and then no longer allowed. */
export type Outcome = (typeof outcomes)[number];
const outcomes = ['allowed', 'connected', 'refused', 'failed', 'ended'] as const;

export interface NetworkEntry {
  readonly at: string;
  readonly agent: string;
  /** `host:port`, as it was asked for. */
  readonly place: string;
  readonly outcome: Outcome;
  /** The rule, the answer or the fault that decided; of a connection, which way it was made. */
  readonly because: string;
}

/** A file of this size becomes the older half, in place of the one before. */
const halfBytes = 128 * 1024;
/** An agent chooses how many places it asks for: this process notes so many. */
const maxPlaces = 5_000;
/** Characters of what an agent chooses, in a line. */
const maxLength = 300;

/** The log of a workspace, as one process writes it. */
export class NetworkLog {
  readonly #noted = new Set<string>();
  readonly #file: string;

  /** `root`: of the workspace, if there is one. `agent`: whose container this process is in. */
  constructor(
    state: string,
    root: string | undefined,
    private readonly agent: string,
  ) {
    this.#file = fileOf(state, root);
  }

  /**
   * Writes a line, unless this process has for the same place and outcome, or for very many. Returns whether it has.
   * Never fails.
   */
  note(place: string, outcome: Outcome, because: string): boolean {
    const key = `${outcome} ${place.slice(0, maxLength)}`;
    if (this.#noted.has(key) || this.#noted.size >= maxPlaces) return false;
    this.#noted.add(key);
    const entry: NetworkEntry = {
      at: new Date().toISOString(),
      agent: this.agent,
      place: place.slice(0, maxLength),
      outcome,
      because: because.slice(0, maxLength),
    };
    unlessFails(() => this.#append(`${JSON.stringify(entry)}\n`));
    return true;
  }

  #append(line: string): void {
    makeFolder(posix.dirname(this.#file));
    if (isFull(this.#file)) this.#turn();
    withFile(this.#file, 'a+', (file) => appendLines(file, line));
  }

  /** Only one process at a time, and only what is still full: else the half that was just begun would be the older. */
  #turn(): void {
    const lock = new ProcessLocks(posix.dirname(this.#file)).tryTake(posix.basename(this.#file));
    try {
      if (lock !== undefined && isFull(this.#file)) renameSync(this.#file, olderHalf(this.#file));
    } finally {
      lock?.release();
    }
  }
}

/** What is logged of a workspace, or without one, the oldest first. Fails with the system's error. */
export function readLog(state: string, root: string | undefined): NetworkEntry[] {
  const file = fileOf(state, root);
  return [olderHalf(file), file].flatMap((half) =>
    readLines(unlessGone(() => readFileSync(half, 'utf8')) ?? '', entryOf),
  );
}

function isFull(file: string): boolean {
  return (statSync(file, { throwIfNoEntry: false })?.size ?? 0) >= halfBytes;
}

function fileOf(state: string, root: string | undefined): string {
  return posix.join(networkFolder(state), `${recordName(root)}.log`);
}

function olderHalf(file: string): string {
  return file.replace(/\.log$/, '.old.log');
}

function entryOf(fields: Readonly<Record<string, unknown>>): NetworkEntry | undefined {
  const texts = [fields.at, fields.agent, fields.place, fields.because];
  const isEntry =
    texts.every((text) => typeof text === 'string') && outcomes.includes(fields.outcome as Outcome);
  return isEntry ? (fields as unknown as NetworkEntry) : undefined;
}
