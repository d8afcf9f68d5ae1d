/** Runs `cursor-agent`, each time in its own process group, which is ended with all that it has started. */
import { spawn, type ChildProcess } from 'node:child_process';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { programIdentity } from '../system/paths/program-identity';
import { isGroupAlive, signalGroup } from '../system/process-group';
import { within } from '../system/time-limit';
import type { End } from './failures';
import { LineSplitter } from '../system/streams/line-splitter';

/** How long a process group has between SIGTERM and SIGKILL, in milliseconds. */
const killAfterMs = 300;
/** How long the output of a process that is gone is read on, in milliseconds: another may hold the pipe. */
const readOnMs = 500;
/** How long a short command may take, in milliseconds. */
const shortMs = 20_000;
/** How much of stderr is kept, in characters. */
const maxWords = 4_000;

/** Longest line of its output that is read, in characters. */
const maxLine = 64 * 2 ** 20;
/** How many lines of a short command are read. */
const maxShort = 10_000;

export interface Said extends End {
  readonly stdout: string;
}

export class Program {
  readonly #running = new Set<Run>();

  /** `name`: as it is found on the PATH of `env`, or a path, which is taken from `folder`. */
  constructor(
    readonly name: string,
    private readonly env: NodeJS.ProcessEnv,
    folder: string,
  ) {
    // The folder of a session is not to decide what is started in it.
    if (name.includes('/')) this.name = resolve(folder, name);
  }

  /** Changes when another version is installed. */
  get identity(): string {
    return programIdentity([this.name], this.env.PATH);
  }

  /** Starts a run. `input` is all of its stdin; without it, it has our own streams. */
  start(args: readonly string[], cwd: string, input?: string): Run {
    const run = new Run(this.name, args, { cwd, env: this.env }, input);
    this.#running.add(run);
    void run.ended.then(() => this.#running.delete(run));
    return run;
  }

  async ask(args: readonly string[], cwd: string, limitMs = shortMs): Promise<Said> {
    const run = this.start(args, cwd, '');
    const lines: string[] = [];
    const read = (async () => {
      for await (const line of run.lines) if (lines.length < maxShort) lines.push(line);
      return await run.ended;
    })();
    const end = await within(limitMs, read);
    if (end !== undefined) return { ...end, stdout: lines.join('\n') };
    await run.stop();
    return { status: null, words: `no answer in ${limitMs / 1_000} s: timed out`, stdout: '' };
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.#running].map((run) => run.stop()));
  }
}

export class Run {
  /** Lines of its stdout. They end soon after it does. */
  readonly lines: AsyncIterable<string>;
  /** Resolves soon after the process is gone, even if another one holds its streams. */
  readonly ended: Promise<End>;
  readonly #child: ChildProcess;
  #stopping: Promise<void> | undefined;
  #hasEnded = false;

  constructor(
    path: string,
    args: readonly string[],
    place: { cwd: string; env: NodeJS.ProcessEnv },
    input?: string,
  ) {
    const stdio = input === undefined ? ('inherit' as const) : ('pipe' as const);
    // A terminal only the group in the foreground may read.
    const child = spawn(path, args, { ...place, stdio, detached: input !== undefined });
    this.#child = child;
    let words = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (words = (words + text).slice(-maxWords)));
    this.lines = linesOf(child.stdout);
    this.ended = new Promise((done) => {
      child.on('error', (startError) => done({ status: null, words, startError }));
      child.on('exit', () =>
        setTimeout(() => [child.stdout, child.stderr].forEach((each) => each?.destroy()), readOnMs).unref(),
      );
      child.on('close', (status) => done({ status, words: words.trim() }));
    });
    void this.ended.then(() => (this.#hasEnded = true));
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  }

  /**
   * Ends it and what it has started: SIGTERM, then SIGKILL. Resolves when it is gone. What a run that has ended by itself
   * left running is meant to run.
   */
  async stop(): Promise<void> {
    if (this.#hasEnded) return;
    this.#stopping ??= this.#end();
    await this.#stopping;
  }

  async #end(): Promise<void> {
    const { pid } = this.#child;
    if (pid === undefined) return;
    // In our own group, of which others see to the rest.
    if (this.#child.stdin === null) {
      this.#child.kill('SIGTERM');
      await this.ended;
      return;
    }
    signalGroup(pid, 'SIGTERM');
    await within(killAfterMs, this.ended);
    if (isGroupAlive(pid)) signalGroup(pid, 'SIGKILL');
    await this.ended;
  }
}

/** The lines of a stream until it ends or is destroyed, without their ends; `null`: the program has no such stream. */
async function* linesOf(stream: Readable | null): AsyncGenerator<string> {
  const lines = new LineSplitter(maxLine);
  try {
    for await (const chunk of stream?.setEncoding('utf8') ?? []) yield* lines.take(chunk as string);
  } catch {
    // It was destroyed, as its process is gone.
  }
  if (lines.rest !== '') yield lines.rest;
}
