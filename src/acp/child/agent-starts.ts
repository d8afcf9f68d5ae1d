/** The process of one child, which is started again when a start fails and another may go better. */
import { AgentProcess, type AgentProcessOptions, type StopLadder } from '../../agent/process';
import { CaiError } from '../../errors';

/** How the process is started, and what is called on the way. */
export interface AgentStartsOptions extends AgentProcessOptions {
  /** How long the next start is to wait, in milliseconds. */
  delayMs(): number;
  /** A process has been started: the first one, or another in its place. */
  onStart(process: AgentProcess): void;
  /** A process has ended. Returns undefined if another is to be started, else the reason for `onEnd`. */
  onFailure(reason: CaiError): CaiError | undefined;
}

/** An agent whose start is late has nothing to lose. */
const lateStop: StopLadder = { termAfterMs: 0, killAfterMs: 1_000 };

/** The starts of one child. */
export class AgentStarts {
  #process: AgentProcess | undefined;
  /** Runs until the next start. */
  #wait: NodeJS.Timeout | undefined;
  /** Runs until the start fails. */
  #limit: NodeJS.Timeout | undefined;
  /** Why the process was ended, if the limit has ended it. */
  #failure: CaiError | undefined;

  /** Nothing is started yet. */
  constructor(private readonly options: AgentStartsOptions) {}

  /** Starts a process, at once if nothing has failed before. */
  start(): void {
    const delayMs = this.options.delayMs();
    if (delayMs === 0) this.#spawn();
    else this.#wait = setTimeout(() => this.#spawn(), delayMs);
  }

  /** The start fails with `reason` unless `lift` comes within `limitMs`, which may be `Infinity`. */
  limit(limitMs: number, reason: CaiError): void {
    clearTimeout(this.#limit);
    if (limitMs === Infinity) return;
    this.#limit = setTimeout(() => {
      this.#failure = reason;
      void this.#process?.stop(lateStop);
    }, limitMs);
  }

  /** It has started: the limit is lifted. */
  lift(): void {
    clearTimeout(this.#limit);
  }

  /** As `AgentProcess.stop`. A process that waits for its start is not started any more. */
  async stop(ladder: StopLadder): Promise<void> {
    this.lift();
    if (this.#wait !== undefined) {
      clearTimeout(this.#wait);
      this.#wait = undefined;
      const { name } = this.options.agent;
      // Later than this call: its caller does not expect the end yet.
      await new Promise<void>((resolve) => void setImmediate(resolve));
      this.options.onEnd(new CaiError('AGENT_EXITED', `agent "${name}" is not needed any more: try again`));
    }
    await this.#process?.stop(ladder);
  }

  #spawn(): void {
    this.#wait = undefined;
    this.#failure = undefined;
    this.#process = new AgentProcess({ ...this.options, onEnd: (reason) => this.#onEnd(reason) });
    this.options.onStart(this.#process);
  }

  #onEnd(ended: CaiError): void {
    this.lift();
    const reason = this.options.onFailure(this.#failure ?? ended);
    if (reason === undefined) this.start();
    else this.options.onEnd(reason);
  }
}
