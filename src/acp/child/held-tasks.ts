/** What waits for the start of an agent, in its order. */
import { ByteBudget } from '../../rpc/byte-budget';
import type { CaiError } from '../../errors';
import { queueToAgent } from './child-failures';

/** Something to send once the agent has started. */
export interface HeldTask {
  /** What it will write, in bytes. */
  readonly bytes: number;
  /** The agent is ready: sends it. */
  run(): void;
  /** The agent did not start, or ended before it could run. */
  onFailure(reason: CaiError): void;
}

/** The tasks of one agent. */
export class HeldTasks {
  readonly #tasks: HeldTask[] = [];
  readonly #budget: ByteBudget<HeldTask>;

  /** `limitBytes`: for what all tasks will write. */
  constructor(limitBytes: number) {
    this.#budget = new ByteBudget(limitBytes, queueToAgent, ({ bytes }) => bytes);
  }

  /** Adds a task; where there is no room for it, returns why, as a part of a sentence. */
  add(task: HeldTask): string | undefined {
    if (!this.#budget.take(task)) return this.#budget.excessWith(task);
    this.#tasks.push(task);
    return undefined;
  }

  /** Takes out all tasks. An agent starts once, so that none is added afterwards. */
  takeAll(): HeldTask[] {
    return this.#tasks.splice(0);
  }
}
