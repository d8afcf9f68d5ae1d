/**
 * One agent process: lines in, lines out. It leads its own process group, so that what it started can be ended with it.
 */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import type { Duplex, Writable } from 'node:stream';
import type { Log } from '../system/log';
import { TurnWriter } from '../system/streams/turn-writer';
import { LineReader, type LineLimits } from '../rpc/line';
import { lengthOf, type Line } from '../rpc/splice';
import type { AgentCommand } from './catalog';
import { StatusLink } from '../rpc/status';
import { patientStop, ProcessEnd, type StopLadder } from './process-end';
import type { ProcessEvent } from './process-event';

/** How many bytes of lines are taken from one agent before others have their turn; one line may be longer. */
const shareBytes = 32 * 1024;
/** The same where it is only the editor that waits. */
const shareAloneBytes = 256 * 1024;

/** How a process is started. */
export interface AgentProcessOptions {
  /** What is started; its name is for messages. */
  readonly agent: AgentCommand;
  readonly cwd: string;
  /** The whole environment of the process. */
  readonly env: NodeJS.ProcessEnv;
  readonly limits: LineLimits;
  /** For its stderr, at level debug. */
  readonly log: Log;
  readonly offersLines?: boolean;
  /** No other agent waits to be read. */
  isAlone?: (() => boolean) | undefined;
}

/** A started agent. */
export class AgentProcess {
  /** For questions to the command; `undefined` for one without status. */
  link: StatusLink | undefined;
  sentBytes = 0;
  readonly #end: ProcessEnd;
  /** `undefined`: the system could not even try to start it. */
  readonly #child: ChildProcessWithoutNullStreams | undefined;
  #input: TurnWriter | undefined;
  readonly #reader: LineReader;
  #pauses = 0;
  #isOutputOver = false;
  readonly #offer: ((pieces: readonly Buffer[]) => number) | undefined;

  /** Starts the agent. If it cannot be started, `end` is told. */
  constructor(
    private readonly options: AgentProcessOptions,
    private readonly hear: (event: ProcessEvent) => void,
  ) {
    this.#reader = new LineReader(options.limits);
    if (options.offersLines === true) this.#offer = (pieces) => this.#offerLines(pieces);
    this.#end = new ProcessEnd(options.agent, options);
    this.#child = this.#end.child = this.#spawn();
    if (this.#child !== undefined) this.#listen(this.#child);
    else setImmediate(() => this.#finish());
  }

  /** Undefined, with the reason noted, when the system has no room for another process. */
  #spawn(): ChildProcessWithoutNullStreams | undefined {
    const { agent, cwd, env } = this.options;
    const [program, ...args] = agent.command;
    try {
      const stdio = Array<'pipe'>(agent.hasStatus === true ? 4 : 3).fill('pipe');
      const child = spawn(program, args, { cwd, env, stdio, detached: true });
      child.on('error', (error) => {
        this.#end.spawnError = error;
        if (child.pid === undefined) this.#finish();
      });
      // Out of file descriptors: there are no pipes, and an error follows.
      return (child.stdin as Writable | undefined) === undefined ? undefined : child;
    } catch (error) {
      this.#end.spawnError = error as Error;
      return undefined;
    }
  }

  #listen(child: ChildProcessWithoutNullStreams): void {
    child.on('exit', (code, signal) => {
      void this.#end.exited(code, signal);
      this.#limitReading();
    });
    this.#input = new TurnWriter(child.stdin);
    // A pipe error only says that the process is gone, which its exit tells better.
    for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.on('error', () => undefined);
    child.stdin.on('drain', () => this.hear({ kind: 'drained' }));
    child.stdout.on('data', (chunk: Buffer) => {
      this.#reader.push(chunk);
      this.#pull();
    });
    child.stdout.on('end', () => {
      this.#reader.end();
      if (!this.#end.hasExited && !this.#end.isAsked) void this.stop(patientStop);
      this.#pull();
      if (!this.#end.hasExited && this.#pauses === 0) this.hear({ kind: 'mute' });
    });
    child.on('close', () => {
      this.#isOutputOver = true;
      this.#reader.end();
      this.#pull();
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => this.#onStderr(text));
    const status = child.stdio[3] as Duplex | undefined;
    if (status === undefined) return;
    this.link = new StatusLink(
      status,
      (each) => {
        if (each.kind === 'failed') this.#end.failure = each.code;
        else this.hear({ kind: 'status', status: each });
      },
      async (place) => await new Promise((answer) => this.hear({ kind: 'asks', place, answer })),
    );
  }

  /** Its process id; undefined when it could not be started. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get unreadBytes(): number {
    return this.#input?.waitingBytes ?? 0;
  }

  /** Writes a line to its stdin; nothing once it has ended. */
  send(line: Line): void {
    const stdin = this.#child?.stdin;
    if (stdin?.writable !== true) return;
    this.hear({ kind: 'sent', line });
    this.sentBytes += lengthOf(line);
    this.#input?.add(line);
  }

  /** Stops reading its output until as many calls of `resume` have come. */
  pause(): void {
    this.#pauses++;
    this.#child?.stdout.pause();
    this.#end.liftReading();
  }

  /** Takes one `pause` back. */
  resume(): void {
    this.#pauses--;
    this.#pull();
  }

  /** Ends it: stdin is closed, then SIGTERM, then SIGKILL to its group. Resolves when nothing is left. */
  async stop(ladder: StopLadder): Promise<void> {
    this.#input?.flush();
    await this.#end.stop(ladder);
  }

  #pull(): void {
    const offer = this.#offer;
    const share = this.options.isAlone?.() === true ? shareAloneBytes : shareBytes;
    let bytes = 0;
    while (this.#pauses === 0) {
      const taken = offer === undefined ? 0 : this.#reader.offer(offer);
      bytes += taken;
      if (taken === 0) {
        const line = this.#reader.next();
        if (line === undefined) break;
        this.hear({ kind: 'line', line });
        if (Buffer.isBuffer(line)) bytes += line.length;
      }
      if (bytes < share) continue;
      // Node reads 2 MiB of one agent before it looks at the next.
      this.pause();
      setImmediate(() => this.resume());
    }
    if (this.#pauses > 0) return;
    if (this.#isOutputOver) this.#finish();
    else this.#child?.stdout.resume();
    this.#limitReading();
  }

  #offerLines(pieces: readonly Buffer[]): number {
    const offer = { kind: 'lines' as const, pieces, takenBytes: 0 };
    this.hear(offer);
    return offer.takenBytes;
  }

  #limitReading(): void {
    if (!this.#isOutputOver && this.#pauses === 0) this.#end.limitReading();
  }

  /** Tells the end once both the process and its output are over. */
  #finish(): void {
    const reason = this.#pauses > 0 ? undefined : this.#end.finish(this.#isOutputOver);
    if (reason === undefined) return;
    this.hear({ kind: 'end', reason });
    this.#end.settle();
  }

  #onStderr(text: string): void {
    this.#end.keep(text);
    this.options.log.debug({ pid: this.pid, text }, 'stderr of agent');
    this.hear({ kind: 'stderr', text });
  }
}
