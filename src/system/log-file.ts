/**
 * What one process has logged, kept for `cai logs`: its own file in our folder of logs, made at its
 * first line, bounded in size, as is the number of such files. A disk that is full costs lines and nothing else.
 */
import { closeSync, openSync, readdirSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from './files/make-folder';

/** A file of this size becomes the older half of a log, in place of the one before. */
const halfBytes = 512 * 1024;
/** Processes whose logs are kept, and those that run. */
const maxLogs = 20;

export class LogFile {
  #name = '';
  #descriptor: number | undefined;
  #bytes = 0;
  #hasEnded = false;
  /** When the half that is next begun began. */
  #since = new Date();

  /**
   * `folder` need not exist. `head` names the process, the agent that it runs, and our version. `isAlive` tells whether
   * there is a process of that id, whose logs stay.
   */
  constructor(
    private readonly folder: string,
    private readonly head: { readonly pid: number; readonly agent: string; readonly version: string },
    private readonly isAlive: (pid: number) => boolean,
  ) {}

  write(line: string): void {
    if (this.#hasEnded) return;
    try {
      if (this.#descriptor === undefined) this.#begin();
      else if (this.#bytes > halfBytes) this.#turn(this.#descriptor);
      this.#append(line);
    } catch {
      // As the head says.
    }
  }

  /** Lines that come later are dropped. */
  end(): void {
    this.#hasEnded = true;
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  #begin(): void {
    makeFolder(this.folder);
    const logs = new Set(readdirSync(this.folder).filter(isLog).map(stemOf));
    // A process may have begun several logs at the same time.
    const nameNow = (): string => `${this.#since.toISOString().replace(/[-:]/g, '')}-${this.head.pid}`;
    while (logs.has(nameNow())) this.#since = new Date(this.#since.getTime() + 1);
    this.#name = nameNow();
    const oldest = [...logs].sort().slice(0, -(maxLogs - 1));
    for (const name of oldest.filter((each) => !this.isAlive(Number(each.split('-')[1]))))
      for (const end of ['.old.log', '.log']) rmSync(join(this.folder, name + end), { force: true });
    this.#open();
  }

  #turn(descriptor: number): void {
    closeSync(descriptor);
    this.#descriptor = undefined;
    this.#since = new Date();
    const path = join(this.folder, this.#name);
    renameSync(`${path}.log`, `${path}.old.log`);
    this.#open();
  }

  #open(): void {
    this.#descriptor = openSync(join(this.folder, `${this.#name}.log`), 'a', 0o600);
    this.#bytes = 0;
    const { version, ...head } = this.head;
    const first = { level: 30, time: this.#since.toISOString(), ...head, msg: `cai ${version}` };
    this.#append(`${JSON.stringify(first)}\n`);
  }

  #append(line: string): void {
    this.#bytes += writeSync(this.#descriptor!, line);
  }
}

/** Whether a file of that name in our folder of logs is a log. */
export function isLog(name: string): boolean {
  return /^\d{8}T\d{6}\.\d{3}Z-\d+(?:\.old)?\.log$/.test(name);
}

/** What the two halves of a log have in common in their names; it sorts by the start of the process. */
export function stemOf(name: string): string {
  return name.replace(/(?:\.old)?\.log$/, '');
}
