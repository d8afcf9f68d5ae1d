/** What waits for the start of an agent, in its order. */
import { ByteBudget } from '../../rpc/byte-budget';
import type { CaiError } from '../../errors';
import { queueToAgent, tooMuchHeld } from './child-failures';

/** Something to send once the agent has started. */
export interface HeldTask {
  /** What it will write, in bytes. */
  readonly bytes: number;
  run(): void;
  /** The agent did not start, or ended before it could run. */
  onFailure(reason: CaiError): void;
}

export class HeldTasks {
  readonly #tasks: HeldTask[] = [];
  readonly #budget: ByteBudget<HeldTask>;

  /** `limitBytes`: for what all tasks will write. */
  constructor(
    private readonly agent: string,
    limitBytes: number,
  ) {
    this.#budget = new ByteBudget(limitBytes, queueToAgent, ({ bytes }) => bytes);
  }

  /** Adds a task, or fails it where there is no room for it. */
  add(task: HeldTask): void {
    if (this.#budget.take(task)) this.#tasks.push(task);
    else task.onFailure(tooMuchHeld(this.agent, this.#budget.excessWith(task)));
  }

  /** Takes out all tasks. An agent starts once, so that no task is added afterwards. */
  takeAll(): HeldTask[] {
    return this.#tasks.splice(0);
  }
}
