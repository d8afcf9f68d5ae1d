/** What waits for an agent to start: in order, and limited. */
import type { CaiError } from '../../errors';

/** Something to send once the agent has started. */
export interface HeldTask {
  /** What it will write, in bytes. */
  readonly bytes: number;
  /** The agent is ready: sends it. */
  run(): void;
  /** The agent did not start, or ended before it could run. */
  onFailure(reason: CaiError): void;
}

/** What a held task takes besides the bytes that it will write. */
const taskBytes = 1_024;

/** The tasks of one child. */
export class HeldTasks {
  #tasks: HeldTask[] = [];
  #bytes = 0;

  /** `budgetBytes`: what all tasks may take together. A single task that writes may wait in any case. */
  constructor(private readonly budgetBytes: number) {}

  /** Adds a task at the end; false if there is no room for it. */
  add(task: HeldTask): boolean {
    const isTooMuch = this.#bytes + task.bytes + taskBytes > this.budgetBytes;
    if (isTooMuch && (task.bytes === 0 || this.#tasks.some(({ bytes }) => bytes > 0))) return false;
    this.#tasks.push(task);
    this.#bytes += task.bytes + taskBytes;
    return true;
  }

  /** Takes all tasks out. */
  takeAll(): HeldTask[] {
    const tasks = this.#tasks;
    this.#tasks = [];
    this.#bytes = 0;
    return tasks;
  }
}
