/** When the process of an agent is started: at once, or again when a start fails and another may go better. */
import type { AgentProcess } from '../../agent/process';
import type { StopLadder } from '../../agent/process-end';
import { CaiError } from '../../errors';

export interface StartsOwner {
  /** Starts a process. Its end is told to `AgentStarts.ended`. */
  spawn(): AgentProcess;
  /** How long the next start is to wait, in milliseconds. */
  delayMs(): number;
  /** A process has ended. Returns undefined if another is to be started, else the reason for `onEnd`. */
  onFailure(reason: CaiError): CaiError | undefined;
  /** Called once: the last process has ended, or no process will start. */
  onEnd(reason: CaiError): void;
}

/** An agent whose start is late has nothing to lose. */
const lateStop: StopLadder = { termAfterMs: 0, killAfterMs: 1_000 };

/** The starts of one agent, of which one process runs at a time. */
export class AgentStarts {
  #process: AgentProcess | undefined;
  /** Runs until the next start. */
  #wait: NodeJS.Timeout | undefined;
  /** Runs until the start fails. */
  #limit: NodeJS.Timeout | undefined;
  /** Why the process was ended, if `fail` has ended it. */
  #failure: CaiError | undefined;

  /** Nothing is started yet. `agent` is its name, for messages. */
  constructor(
    private readonly agent: string,
    private readonly owner: StartsOwner,
  ) {}

  /** Starts a process, at once if nothing has failed before. */
  start(): void {
    const delayMs = this.owner.delayMs();
    if (delayMs === 0) this.#spawn();
    else this.#wait = setTimeout(() => this.#spawn(), delayMs);
  }

  /** The start fails with `why` unless `lift` comes within `limitMs`. */
  limit(limitMs: number, why: () => CaiError): void {
    this.lift();
    this.#limit = setTimeout(() => this.fail(why()), limitMs);
  }

  lift(): void {
    clearTimeout(this.#limit);
  }

  /** The start fails with that reason, once its process has ended. */
  fail(reason: CaiError): void {
    this.lift();
    this.#failure = reason;
    void this.#process?.stop(lateStop);
  }

  ended(how: CaiError): void {
    this.lift();
    const reason = this.owner.onFailure(this.#failure ?? how);
    if (reason === undefined) this.start();
    else this.owner.onEnd(reason);
  }

  /** As `AgentProcess.stop`. A process that waits for its start is not started any more. */
  async stop(ladder: StopLadder): Promise<void> {
    this.lift();
    if (this.#wait !== undefined) {
      clearTimeout(this.#wait);
      this.#wait = undefined;
      // Later than this call: its caller does not expect the end yet.
      await new Promise<void>((resolve) => void setImmediate(resolve));
      const text = `agent "${this.agent}" is not needed any more: try again`;
      this.owner.onEnd(new CaiError('AGENT_EXITED', text));
    }
    await this.#process?.stop(ladder);
  }

  #spawn(): void {
    this.#wait = undefined;
    this.#failure = undefined;
    this.#process = this.owner.spawn();
  }
}
