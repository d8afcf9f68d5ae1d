/**
 * Whether children that have something to do can do it at all. An agent that is silent is none of this: a turn may think
 * for an hour. Why, and with which limits: docs/decisions/0023-hangs.md.
 */
import { processStat } from '../system/process-identity';
import { CaiError } from '../errors';
import type { WorkspaceChild } from '../child/workspace-child';

/** How often they are looked at, and how long an answer may take, in milliseconds. */
const periodMs = 5_000;
/** So many answers in succession must be missing: a busy machine, or a proxy that was stopped itself, misses one. */
const maxMissed = 2;
/** In so many looks in succession an agent of our own must be stopped: whoever stops it for a moment is not meant. */
const maxStopped = 3;

const nextStep = 'It was ended: send the next prompt, which starts the agent again';

/** Looks after the children of one proxy. */
export class Vitals {
  /** Of children that are not well: in how many looks in succession. */
  readonly #bad = new WeakMap<WorkspaceChild, number>();
  #isWatching = false;

  /** `giveUp` is called for a child that will never go on. */
  constructor(
    private readonly children: readonly WorkspaceChild[],
    private readonly giveUp: (child: WorkspaceChild, reason: CaiError) => void,
  ) {}

  /** Looks after them until there is none any more. */
  watch(): void {
    if (!this.#isWatching) this.#later();
  }

  /** The program of a child tells that the agent is stopped, and has been for some seconds, or that it may be. */
  isStopped(child: WorkspaceChild, kind: 'stopped' | 'unwatchable' = 'stopped'): void {
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
    const busy = this.children.filter((child) => child.isUsable && child.open.size > 0);
    await Promise.all(
      busy.map(async (child) => (child.link === undefined ? this.#lookAt(child) : await this.#ask(child))),
    );
    this.#later();
  }

  /** An agent that we have started ourselves. */
  #lookAt(child: WorkspaceChild): void {
    const isStopped = child.pid !== undefined && processStat(child.pid)?.isStopped === true;
    if (this.#count(child, isStopped) >= maxStopped) this.isStopped(child);
  }

  /** The program that runs an agent answers at once, if it works. */
  async #ask(child: WorkspaceChild): Promise<void> {
    const { link, pid } = child;
    const askedAt = performance.now();
    const answer = await link!.ask('alive', periodMs);
    // That our own timer is as late as that means that it is we who were stopped.
    const isOurFault = performance.now() - askedAt > 2 * periodMs;
    const isGone = child.link !== link || !child.isUsable;
    const missed = this.#count(child, answer === undefined && !isOurFault && !isGone);
    if (missed < maxMissed) return;
    const what = `the program that runs agent "${child.name}" (cai exec, process ${pid}) does not answer, as when it is stopped by SIGSTOP`;
    this.giveUp(child, ended(`${what}. ${nextStep}`));
  }

  #count(child: WorkspaceChild, isBad: boolean): number {
    const count = isBad ? (this.#bad.get(child) ?? 0) + 1 : 0;
    this.#bad.set(child, count);
    return count;
  }
}

function ended(text: string): CaiError {
  return new CaiError('AGENT_EXITED', text);
}
