import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { patienceMs } from '../support/patience';

/** How a program ended, and all it said. */
export interface Ended {
  /** Exit status; null when a signal ended it. */
  readonly status: number | null;
  /** The signal that ended it; null when it ended by itself. */
  readonly signal: NodeJS.Signals | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** A program that was started. Each wait ends with a verdict; a failure tells all that the program said. */
export class Running {
  /** Settles when the program has ended and its output is complete. */
  readonly ended: Promise<Ended>;
  readonly #stdout: Buffer[] = [];
  #stderr = '';
  #looks: (() => void)[] = [];

  /** `title` says in failures what it is. */
  constructor(
    private readonly title: string,
    /** Its process. Its output is read from the start, and kept. */
    readonly child: ChildProcessWithoutNullStreams,
  ) {
    child.stdin.on('error', () => undefined);
    child.stdout.on('data', (chunk: Buffer) => this.#heard(() => this.#stdout.push(chunk)));
    child.stderr.setEncoding('utf8');
    child.stderr.on('data', (text: string) => this.#heard(() => (this.#stderr += text)));
    this.ended = new Promise((done, fail) => {
      child.on('error', fail);
      child.on('close', (status, signal) => {
        done({ status, signal, stdout: this.stdout, stderr: this.stderr });
      });
    });
    // Whoever waits for it is told.
    this.ended.catch(() => undefined);
  }

  /** All of stdout so far. */
  get stdout(): Buffer {
    return Buffer.concat(this.#stdout);
  }

  /** All of stderr so far. */
  get stderr(): string {
    return this.#stderr;
  }

  /** Process id. */
  get pid(): number {
    return this.child.pid!;
  }

  /** Resolves when its stdout holds that text, also if it does already; rejects when it ends before. */
  async says(text: string, limitMs = patienceMs): Promise<void> {
    await this.#until(`said "${text}"`, () => this.stdout.includes(text), limitMs);
  }

  /** As `says`, for stderr. */
  async complains(text: string, limitMs = patienceMs): Promise<void> {
    await this.#until(`said "${text}" on stderr`, () => this.stderr.includes(text), limitMs);
  }

  /** Waits for the end, whatever it is. */
  async ends(limitMs = patienceMs): Promise<Ended> {
    return await this.#inTime(this.ended, 'ended', limitMs);
  }

  /** Waits for the end, which must have status 0. */
  async succeeds(limitMs = patienceMs): Promise<Ended> {
    const ended = await this.ends(limitMs);
    if (ended.status !== 0) throw this.#failure(`ended with ${ended.signal ?? ended.status}`);
    return ended;
  }

  #heard(keep: () => void): void {
    keep();
    for (const look of this.#looks) look();
  }

  async #until(what: string, isSo: () => boolean, limitMs: number): Promise<void> {
    let look: () => void = () => undefined;
    const seen = new Promise<void>((found) => {
      look = () => isSo() && found();
      this.#looks.push(look);
      look();
    });
    const endedFirst = this.ended.then(({ status, signal }) => {
      if (!isSo()) throw this.#failure(`ended with ${signal ?? status} and never ${what}`);
    });
    await this.#inTime(Promise.race([seen, endedFirst]), what, limitMs).finally(() => {
      this.#looks = this.#looks.filter((each) => each !== look);
    });
  }

  async #inTime<T>(event: Promise<T>, what: string, limitMs: number): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(this.#failure(`has not ${what} in ${limitMs} ms`)), limitMs);
    });
    return await Promise.race([event, late]).finally(() => clearTimeout(timer));
  }

  #failure(happened: string): Error {
    const tail = (text: string): string => text.slice(-2_000);
    return new Error(
      `${tail(this.title)}: ${happened}\nstdout: ${tail(this.stdout.toString())}\nstderr: ${tail(this.stderr)}`,
    );
  }
}
