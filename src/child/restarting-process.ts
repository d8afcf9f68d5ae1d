/** The process of one child, which is started again when a start fails and another may go better. */
import { AgentProcess } from '../agent/process';
import type { AgentProcessOptions, StopLadder } from '../agent/process';
import type { StatusLink } from '../agent/status';
import { CaiError } from '../errors';
import { lengthOf } from '../rpc/splice';
import type { Line } from '../rpc/splice';

/** How it is started, and who is told what. */
export interface RestartingProcessOptions extends AgentProcessOptions {
  /** How long the next start is to wait, in milliseconds. */
  delayMs(): number;
  /** A process has been started, the first one or another. */
  onStart(): void;
  /** A process has ended: undefined if another is to be started, else the reason that is told as the end. */
  onFailure(reason: CaiError): CaiError | undefined;
}

/** An agent whose start is late has nothing to lose. */
const lateStop: StopLadder = { termAfterMs: 0, killAfterMs: 1_000 };

/** A process, and those that take its place while it starts. */
export class RestartingProcess {
  #process: AgentProcess | undefined;
  /** Until the next start. */
  #wait: NodeJS.Timeout | undefined;
  /** Until it should have started. */
  #limit: NodeJS.Timeout | undefined;
  /** Why it is ended, where that is not for it to say. */
  #failure: CaiError | undefined;

  /** How much the process that there is now was sent. */
  sentBytes = 0;

  /** Nothing is started yet. */
  constructor(private readonly options: RestartingProcessOptions) {}

  /** Starts it, at once if nothing has failed before. */
  start(): void {
    const delayMs = this.options.delayMs();
    if (delayMs === 0) this.#spawn();
    else this.#wait = setTimeout(() => this.#spawn(), delayMs);
  }

  /** Bytes sent that it has not read yet. */
  get unreadBytes(): number {
    return this.#process?.unreadBytes ?? 0;
  }

  /** As of `AgentProcess`, of the process that there is now. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** As of `AgentProcess`, of the process that there is now. */
  get link(): StatusLink | undefined {
    return this.#process?.link;
  }

  /** As of `AgentProcess`; nothing while there is none. */
  send(line: Line): void {
    this.sentBytes += lengthOf(line);
    this.#process?.send(line);
  }

  /** As of `AgentProcess`. */
  pause(): void {
    this.#process?.pause();
  }

  /** As of `AgentProcess`. */
  resume(): void {
    this.#process?.resume();
  }

  /** Its start fails with `reason` unless `liftLimit` comes in time. */
  limitStart(limitMs: number, reason: CaiError): void {
    clearTimeout(this.#limit);
    if (limitMs === Infinity) return;
    this.#limit = setTimeout(() => {
      this.#failure = reason;
      void this.#process?.stop(lateStop);
    }, limitMs);
  }

  /** It has started: the limit is lifted. */
  liftLimit(): void {
    clearTimeout(this.#limit);
  }

  /** As of `AgentProcess`. One that waits for its start is not started any more. */
  async stop(ladder: StopLadder): Promise<void> {
    this.liftLimit();
    if (this.#wait !== undefined) {
      clearTimeout(this.#wait);
      this.#wait = undefined;
      const { name } = this.options.agent;
      // Not at once: nobody expects the end within a call.
      await new Promise<void>((resolve) => void setImmediate(resolve));
      this.options.onEnd(new CaiError('AGENT_EXITED', `agent "${name}" is not needed any more: try again`));
    }
    await this.#process?.stop(ladder);
  }

  #spawn(): void {
    this.#wait = undefined;
    this.#failure = undefined;
    this.sentBytes = 0;
    this.#process = new AgentProcess({ ...this.options, onEnd: (reason) => this.#onEnd(reason) });
    this.options.onStart();
  }

  #onEnd(ended: CaiError): void {
    this.liftLimit();
    const reason = this.options.onFailure(this.#failure ?? ended);
    if (reason === undefined) this.start();
    else this.options.onEnd(reason);
  }
}
