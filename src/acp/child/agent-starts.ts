/** The process of one child, which is started again when a start fails and another may go better. */
import { AgentProcess, type AgentProcessOptions } from '../../agent/process';
import type { StopLadder } from '../../agent/process-end';
import type { ProcessEvent } from '../../agent/process-event';
import { CaiError } from '../../errors';

/** What the process of a child tells, whichever it is: the first one, or another in its place. */
export type StartsEvent =
  | ProcessEvent
  /** A process has been started. */
  | { readonly kind: 'start'; readonly process: AgentProcess };

/** When another process is started. */
export interface Restarts {
  /** How long the next start is to wait, in milliseconds. */
  delayMs(): number;
  /** A process has ended. Returns undefined if another is to be started, else the reason for `end`. */
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

  /** Nothing is started yet. `end` is told once: of the last process. */
  constructor(
    private readonly options: AgentProcessOptions,
    private readonly restarts: Restarts,
    private readonly hear: (event: StartsEvent) => void,
  ) {}

  /** Starts a process, at once if nothing has failed before. */
  start(): void {
    const delayMs = this.restarts.delayMs();
    if (delayMs === 0) this.#spawn();
    else this.#wait = setTimeout(() => this.#spawn(), delayMs);
  }

  /** The start fails with `why` unless `lift` comes within `limitMs`, which may be `Infinity`. */
  limit(limitMs: number, why?: () => CaiError): void {
    clearTimeout(this.#limit);
    if (limitMs === Infinity) return;
    this.#limit = setTimeout(() => {
      this.#failure = why?.();
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
      const reason = new CaiError('AGENT_EXITED', `agent "${name}" is not needed any more: try again`);
      this.hear({ kind: 'end', reason });
    }
    await this.#process?.stop(ladder);
  }

  #spawn(): void {
    this.#wait = undefined;
    this.#failure = undefined;
    this.#process = new AgentProcess(this.options, (event) => {
      if (event.kind === 'end') this.#onEnd(event.reason);
      else this.hear(event);
    });
    this.hear({ kind: 'start', process: this.#process });
  }

  #onEnd(ended: CaiError): void {
    this.lift();
    const reason = this.restarts.onFailure(this.#failure ?? ended);
    if (reason === undefined) this.start();
    else this.hear({ kind: 'end', reason });
  }
}
