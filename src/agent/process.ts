/**
 * One agent process: lines in, lines out. It leads its own process group, so that what it started can be ended with it.
 */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import type { Duplex, Writable } from 'node:stream';
import type { Log } from '../system/log';
import type { OpenPipes } from '../system/streams/pipe-streams';
import { LineReader, type LineLimits } from '../rpc/line';
import { lengthOf, type Line } from '../rpc/splice';
import { AgentStreams } from './agent-streams';
import type { AgentCommand } from './catalog';
import { StatusLink, type AgentStatus } from '../rpc/status';
import { patientStop, ProcessEnd, type StopLadder } from './process-end';
import type { ProcessEvent } from './process-event';

/** How many bytes of lines are taken from one agent before others have their turn; one line may be longer. */
const shareBytes = 32 * 1024;
/** The same where it is only the editor that waits. */
const shareAloneBytes = 256 * 1024;

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

export class AgentProcess {
  /** For questions to the command; `undefined` for one without status. */
  link: StatusLink | undefined;
  sentBytes = 0;
  readonly #end: ProcessEnd;
  /** `undefined`: the system could not even try to start it. */
  readonly #child: ChildProcessWithoutNullStreams | undefined;
  #streams: AgentStreams | undefined;
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
    this.#streams = new AgentStreams(child, {
      onData: (chunk) => {
        this.#reader.push(chunk);
        this.#pull();
      },
      onEnd: () => {
        this.#reader.end();
        if (!this.#end.hasExited && !this.#end.isAsked) void this.stop(patientStop);
        this.#pull();
        if (!this.#end.hasExited && this.#pauses === 0) this.hear({ kind: 'mute' });
      },
      onClose: () => {
        this.#isOutputOver = true;
        this.#reader.end();
        this.#pull();
      },
      onDrain: () => this.hear({ kind: 'drained' }),
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => this.#onStderr(text));
    const status = child.stdio[3] as Duplex | undefined;
    if (status === undefined) return;
    this.link = new StatusLink(
      status,
      (each) => this.#onStatus(each),
      async (place) => await new Promise((answer) => this.hear({ kind: 'asks', place, answer })),
    );
  }

  /** Its process id; undefined when it could not be started. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get unreadBytes(): number {
    return this.#streams?.unreadBytes ?? 0;
  }

  /** Writes a line to its stdin; nothing once it has ended. */
  send(line: Line): void {
    if (this.#streams?.isWritable !== true) return;
    this.hear({ kind: 'sent', line });
    this.sentBytes += lengthOf(line);
    this.#streams.add(line);
  }

  /** Stops reading its output until as many calls of `resume` have come. */
  pause(): void {
    this.#pauses++;
    this.#streams?.pause();
    this.#end.liftReading();
  }

  /** Takes one `pause` back. */
  resume(): void {
    this.#pauses--;
    this.#pull();
  }

  /** Ends it: stdin is closed, then SIGTERM, then SIGKILL to its group. Resolves when nothing is left. */
  async stop(ladder: StopLadder): Promise<void> {
    this.#streams?.end();
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
    else this.#streams?.resume();
    this.#limitReading();
  }

  #offerLines(pieces: readonly Buffer[]): number {
    let taken = 0;
    this.hear({ kind: 'lines', pieces, take: (bytes) => (taken = bytes) });
    return taken;
  }

  #limitReading(): void {
    if (!this.#isOutputOver && this.#pauses === 0) this.#end.limitReading();
  }

  #onStatus(status: AgentStatus): void {
    switch (status.kind) {
      case 'failed':
        this.#end.failure = status.code;
        return;
      case 'released':
        this.#streams!.released(status.writtenBytes);
        return;
      case 'started':
        this.#take(status.pipes);
        break;
      case 'lost':
        if (!this.#streams!.areTaken) break;
        // The command does not see what goes past it. The agent, which may still live, gets nothing more.
        this.#streams!.end();
        status = { ...status, takenBytes: this.sentBytes };
        break;
    }
    this.hear({ kind: 'status', status });
  }

  /** Uses the agent's own pipes, if it has some that can be reached from here. */
  #take(pipes: OpenPipes | undefined): void {
    const isLate = this.sentBytes > 0 || this.#end.isAsked || this.#end.hasExited;
    if (pipes !== undefined && !isLate && this.#streams!.take(pipes)) this.link!.take();
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
