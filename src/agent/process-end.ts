/** The end of one agent process: how it is asked to end, when it is over, and why. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import type { CaiError } from '../errors';
import { endGroup, signalGroup } from '../system/process-group';
import { endReason, startFailure } from './agent-end';
import type { AgentCommand } from './catalog';

/** How long each step of a stop waits for the one before it, in milliseconds. */
export interface StopLadder {
  /** After closing its stdin, before SIGTERM. */
  readonly termAfterMs: number;
  /** After SIGTERM, before SIGKILL. */
  readonly killAfterMs: number;
}

/** For an agent that is no longer needed. */
export const patientStop: StopLadder = { termAfterMs: 5_000, killAfterMs: 3_000 };
/** While the proxy itself is ending. */
export const hastyStop: StopLadder = { termAfterMs: 2_000, killAfterMs: 1_000 };
/** For a proxy that is no longer needed: after SIGTERM it ends its own agents by `hastyStop`. */
export const proxyStop: StopLadder = { termAfterMs: 2_000, killAfterMs: 5_000 };

/** How long the output of a dead process is read on, in milliseconds: what it wrote lies in the pipe. */
const readOnMs = 2_000;
/** How much of stderr is kept, in characters. */
const stderrTailLength = 4_000;

export class ProcessEnd {
  /** `undefined`: the system could not even try to start it. */
  child: ChildProcessWithoutNullStreams | undefined;
  /** Why it could not be started, or signalled. */
  spawnError: NodeJS.ErrnoException | undefined;
  /** The `FailureCode` that a command of ours has told. */
  failure: string | undefined;
  #exit: { code: number | null; signal: NodeJS.Signals | null } | undefined;
  #stderrTail = '';
  #isOver = false;
  #isGroupGone = false;
  #readOn: NodeJS.Timeout | undefined;
  #ladder: NodeJS.Timeout | undefined;
  readonly #gone: Promise<void>;
  #resolveGone: () => void = () => undefined;

  /** `agent` was to be started in that folder, with that environment. */
  constructor(
    private readonly agent: AgentCommand,
    private readonly place: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
  ) {
    this.#gone = new Promise((resolve) => (this.#resolveGone = resolve));
  }

  /** The process is dead; its output may not be over. */
  get hasExited(): boolean {
    return this.#exit !== undefined;
  }

  get isAsked(): boolean {
    return this.#ladder !== undefined;
  }

  /** The process has exited: everything that it started in its group ends with it. */
  async exited(code: number | null, signal: NodeJS.Signals | null): Promise<void> {
    this.#exit = { code, signal };
    clearTimeout(this.#ladder);
    await endGroup(this.child!.pid!);
    this.#isGroupGone = true;
    this.settle();
  }

  /** Keeps the end of what it writes to stderr. */
  keep(text: string): void {
    this.#stderrTail = (this.#stderrTail + text).slice(-stderrTailLength);
  }

  /** Its stdin was closed: sends SIGTERM, then SIGKILL to its group. Resolves when nothing is left. */
  async stop(ladder: StopLadder): Promise<void> {
    clearTimeout(this.#ladder);
    if (this.#exit === undefined && this.spawnError === undefined) {
      this.#ladder = setTimeout(() => {
        this.#signal('SIGTERM');
        this.#ladder = setTimeout(() => this.#signal('SIGKILL'), ladder.killAfterMs);
      }, ladder.termAfterMs);
    }
    await this.#gone;
  }

  /** What a dead agent left behind may hold its stdout open for ever, and even write to it. */
  limitReading(): void {
    if (this.#exit === undefined) return;
    this.#readOn ??= setTimeout(() => {
      this.child?.stdout.destroy();
      this.child?.stderr.destroy();
    }, readOnMs);
  }

  /** Its output is not read: that it stays open says nothing. */
  liftReading(): void {
    clearTimeout(this.#readOn);
    this.#readOn = undefined;
  }

  /** Once, when both the process and its output are over, why it ended; undefined before and after. */
  finish(isOutputOver: boolean): CaiError | undefined {
    const isStartFailure = this.spawnError !== undefined && this.child?.pid === undefined;
    if (this.#isOver || !(isStartFailure || (this.#exit !== undefined && isOutputOver))) return undefined;
    this.#isOver = true;
    clearTimeout(this.#readOn);
    clearTimeout(this.#ladder);
    if (isStartFailure) this.#isGroupGone = true;
    return this.#reason();
  }

  /** The end has been told: `stop` resolves once nothing is left. */
  settle(): void {
    if (this.#isOver && this.#isGroupGone) this.#resolveGone();
  }

  #reason(): CaiError {
    if (this.spawnError !== undefined) return startFailure(this.agent, this.place, this.spawnError);
    const { code, signal } = this.#exit!;
    const stderr = this.#stderrTail.trim();
    return endReason(this.agent, { status: code, signal, failure: this.failure, stderr });
  }

  #signal(signal: NodeJS.Signals): void {
    const pid = this.child?.pid;
    if (pid !== undefined) signalGroup(pid, signal);
  }
}
