/**
 * Notices agents that can never answer, because they are stopped, and those whose `cai exec` is, which has their way to the
 * network. An agent that is only silent is well: a turn may think for an hour. Why, and with which limits: docs/decisions/0023-hangs.md.
 */
import { processStat } from '../../system/process-identity';
import { CaiError } from '../../errors';
import type { Child } from './child';

/** How often the children are checked, and how long an answer may take, in milliseconds. */
const periodMs = 5_000;
/**
 * How many answers in a row must be missing. One can be missing on a busy machine, or if the proxy itself was
 * stopped.
 */
const maxMissed = 2;
/** In how many checks in a row an agent on this machine must be stopped. Somebody may stop it for a moment. */
const maxStopped = 3;

const nextStep = 'It was ended: send the next prompt, which starts the agent again';

export class ChildHealth {
  /** In how many checks in a row a child was not well. */
  readonly #bad = new WeakMap<Child, number>();
  #isWatching = false;

  /** `giveUp` is called for a child that can never answer. */
  constructor(
    private readonly children: readonly Child[],
    private readonly giveUp: (child: Child, reason: CaiError) => void,
  ) {}

  /** Checks the children until none is left. */
  watch(): void {
    if (!this.#isWatching) this.#later();
  }

  /** The program that runs an agent says that the agent has been stopped for some seconds, or that it may be. */
  giveUpStopped(child: Child, kind: 'stopped' | 'unwatchable' = 'stopped'): void {
    const what =
      kind === 'stopped'
        ? 'is stopped, as by SIGSTOP, and cannot go on'
        : 'may be stopped, and cannot be watched: the program that looks (cai-watch) is ended in the container each time';
    if (child.isUsable) this.giveUp(child, ended(`agent "${child.name}" ${what}. ${nextStep}`));
  }

  #later(): void {
    this.#isWatching = this.children.length > 0;
    if (this.#isWatching) setTimeout(() => void this.#look(), periodMs).unref();
  }

  async #look(): Promise<void> {
    const busy = this.children.filter((child) => child.isUsable && child.requests.size > 0);
    await Promise.all(
      busy.map(async (child) => (child.link === undefined ? this.#lookAt(child) : await this.#ask(child))),
    );
    this.#later();
  }

  #lookAt(child: Child): void {
    const isStopped = child.pid !== undefined && processStat(child.pid)?.isStopped === true;
    if (this.#count(child, isStopped) >= maxStopped) this.giveUpStopped(child);
  }

  /** Checks the program that runs an agent, which answers at once if it works. */
  async #ask(child: Child): Promise<void> {
    const { link, pid } = child;
    const askedAt = performance.now();
    const isAlive = await link!.isAlive(periodMs);
    // If our own timer was so late, it was the proxy that was stopped.
    const isOurFault = performance.now() - askedAt > 2 * periodMs;
    const isGone = child.link !== link || !child.isUsable;
    const missed = this.#count(child, !isAlive && !isOurFault && !isGone);
    if (missed < maxMissed) return;
    const what = `the program that runs agent "${child.name}" (cai exec, process ${pid}) does not answer, as when it is stopped by SIGSTOP`;
    this.giveUp(child, ended(`${what}. ${nextStep}`));
  }

  #count(child: Child, isBad: boolean): number {
    const count = isBad ? (this.#bad.get(child) ?? 0) + 1 : 0;
    this.#bad.set(child, count);
    return count;
  }
}

function ended(text: string): CaiError {
  return new CaiError('AGENT_EXITED', text);
}
