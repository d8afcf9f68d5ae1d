/**
 * Freezing: while the editor serves a file for an agent, nothing runs that could put another file in its place. That
 * is what the engine's pause does: unlike a process that was stopped, one in a frozen cgroup is continued by nothing
 * from inside. See docs/decisions/0019-files-through-the-editor.md.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CaiError } from '../errors';
import { ProcessLocks, type Lock } from '../system/process-lock';
import type { ContainerInfo } from './engine/container-info';
import type { Engine } from './engine/engine';
import { ownContainers } from './user-containers';

/** How long everything may take until all stands still, in milliseconds. */
const freezeMs = 4_000;
/** How long all may stand still, in milliseconds: longer than the proxy waits, which may itself be stopped. */
const mostFrozenMs = 6_000;
/** How long an engine may need to know what it has done, in milliseconds. */
const settleMs = 1_000;
/** How long to wait before another look, in milliseconds: a file is served in some tens of them. */
const pollMs = 3;
/** The note in a lock that only keeps others from pausing the container. A lock for a served file has no note. */
const keptThawed = 'kept thawed';

/**
 * Which process of this user has frozen which container, or keeps others from that: a lock for each container, by its
 * id. They survive a restart, so that whoever finds a container frozen knows whether somebody is there to thaw it.
 */
export function freezeLocks(state: string): ProcessLocks {
  return new ProcessLocks(join(state, 'frozen'));
}

/** Freezes all containers of a user that run, for what one of them asks; at most once at a time. */
export class Freezer {
  #taken: readonly Lock[] = [];
  /** What is under way: a thaw must not overtake its freeze. */
  #work: Promise<unknown> = Promise.resolve();
  #limit: NodeJS.Timeout | undefined;
  #refusal: CaiError | undefined;
  #hasFrozen = false;
  /** Ids of what ran last, sorted; mostly that is so still, and it is looked up while all is frozen. */
  #known: readonly string[] | undefined;

  /**
   * Nothing is frozen yet. `served` is the id of the container whose files are served, and of the host's user whose other
   * containers are frozen, too: agents can hand each other whatever they have open.
   */
  constructor(
    private readonly engine: Engine,
    private readonly locks: ProcessLocks,
    private readonly served: { readonly container: string; readonly hostUser: number },
  ) {}

  /**
   * Resolves when this container and every other one of this user stand still. Rejects with the reason, and nothing
   * is frozen then. After some seconds everything is thawed without a word.
   */
  async freeze(): Promise<void> {
    await this.#next(async () => {
      // An engine that cannot do it is not tried again.
      if (this.engine.isElsewhere === true) this.#refusal = notElsewhere;
      if (this.#refusal !== undefined) throw this.#refusal;
      await this.#thaw();
      const deadline = performance.now() + freezeMs;
      try {
        while (!(await this.#tryToFreeze(deadline)));
        this.#limit = setTimeout(() => void this.thaw().catch(() => undefined), mostFrozenMs).unref();
      } catch (reason) {
        this.#known = undefined;
        await this.#thaw().catch(() => undefined);
        throw reason;
      }
    });
  }

  /** Resolves when nothing is frozen any more by us. */
  async thaw(): Promise<void> {
    await this.#next(() => this.#thaw());
  }

  async #next(work: () => Promise<void>): Promise<void> {
    const done = this.#work.then(work);
    this.#work = done.catch(() => undefined);
    await done;
  }

  /** False if a container has begun to run meanwhile that would have to stand still, too. */
  async #tryToFreeze(deadline: number): Promise<boolean> {
    const ids = this.#known ?? (await this.#running());
    // In the same order as everybody does, so that no two wait for each other.
    for (const id of ids) {
      const lock = await this.locks.take(id, { pollMs, deadline });
      if (lock === undefined) throw cannotFreeze(id, 'another process needs it');
      this.#taken = [...this.#taken, lock];
      if (lock.isLeft) await setPaused(this.engine, id, false);
    }
    // From here on, whoever starts another one sees our locks, and waits before anything runs in it.
    [this.#known] = await Promise.all([this.#running(), this.#pauseAll()]);
    if (this.#known.every((id) => ids.includes(id))) return true;
    await this.#thaw();
    return false;
  }

  async #pauseAll(): Promise<void> {
    // All of them are waited for: only then is it known what there is to thaw.
    const pausing = this.#taken.map(({ name }) => setPaused(this.engine, name, true));
    const failed = (await Promise.allSettled(pausing)).find((each) => each.status === 'rejected');
    this.#hasFrozen ||= failed === undefined;
    if (failed === undefined) return;
    const reason: unknown = failed.reason;
    // One that has done it may only be short of time: runc gives up where processes are busy in the kernel.
    if (reason instanceof CaiError && reason.code === 'CONTAINER_START' && !this.#hasFrozen)
      this.#refusal = reason;
    throw reason;
  }

  async #running(): Promise<string[]> {
    const all = await ownContainers(this.engine, this.served.hostUser);
    const ids = all.filter(({ state }) => isUp(state)).map(({ id }) => id);
    return [...new Set([this.served.container, ...ids])].sort();
  }

  async #thaw(): Promise<void> {
    clearTimeout(this.#limit);
    const thawing = this.#taken.map(async (lock) => {
      await setPaused(this.engine, lock.name, false);
      lock.release();
      this.#taken = this.#taken.filter((each) => each !== lock);
    });
    for (const each of await Promise.allSettled(thawing)) if (each.status === 'rejected') throw each.reason;
  }
}

/** What agents have changed on another machine may be seen here some time after they stand still. */
const notElsewhere = new CaiError(
  'CONTAINER_START',
  'agents on another machine get no files of the editor: they use those on the disk',
);

/** Resolves after a short time, at random: those that wait for each other do not meet again. */
async function aMoment(): Promise<void> {
  await sleep(pollMs * (1 + 2 * Math.random()));
}

/** Whether processes run in a container that is in that state, or will again without being started. */
export function isUp(state: string): boolean {
  return !['created', 'configured', 'initialized', 'exited', 'stopped', 'removing', 'dead'].includes(state);
}

/**
 * Returns when the container stands still, or runs again; at once where it does not run. For some milliseconds after a
 * pause or its end, Docker believes what was so before: it hears of both a second time, by an event.
 */
async function setPaused(engine: Engine, id: string, isPaused: boolean): Promise<void> {
  const end = performance.now() + settleMs;
  for (;;) {
    try {
      await engine.setPaused(id, isPaused);
      return;
    } catch (reason) {
      const info = await engine.inspectContainer(id);
      if (info?.isRunning !== true) return;
      if (performance.now() >= end) {
        const standsStill = info.state === 'paused';
        // By its user, who may let it go on at any time.
        if (isPaused && standsStill) throw cannotFreeze(id, 'it is paused already');
        if (isPaused || standsStill) throw reason;
        return;
      }
    }
    await aMoment();
  }
}

/** For now: the next time may be another. */
function cannotFreeze(id: string, why: string): CaiError {
  return new CaiError('AGENT_STALLED', `the container ${id.slice(0, 12)} cannot be paused: ${why}`);
}

/** What a process does that wants a container and may find it frozen. */
export class Frozen {
  #giveUpAt: number | undefined;

  /** For one container. */
  constructor(
    private readonly engine: Engine,
    private readonly locks: ProcessLocks,
  ) {}

  /**
   * True after a moment: the container has to be looked at again, because a file is just being served, or because a
   * process had left it frozen that has died. Rejects if its user has paused it.
   */
  async mustWaitFor(info: ContainerInfo): Promise<boolean> {
    const holders = this.locks.holders();
    const left = await this.#thawLeft(holders.filter(({ isAlive }) => !isAlive).map(({ name }) => name));
    const isServed = holders.some(
      ({ isAlive, name, note }) => isAlive && (name === info.id || note !== keptThawed),
    );
    if (isServed) this.#giveUpAt = undefined;
    else if (info.state !== 'paused') return left.includes(info.id);
    // Docker may tell of a pause that is over.
    else this.#giveUpAt ??= performance.now() + settleMs;
    if (performance.now() >= (this.#giveUpAt ?? Infinity))
      throw new CaiError(
        'CONTAINER_START',
        `the container ${info.name} is paused: docker unpause ${info.name}`,
      );
    await aMoment();
    return true;
  }

  /** Thaws what processes have left frozen that have died; resolves with the containers that go on now. */
  async #thawLeft(left: readonly string[]): Promise<string[]> {
    const thawed: string[] = [];
    for (const container of new Set(left)) {
      // Who has it and is alive thaws it, too.
      const lock = this.locks.tryTake(container, keptThawed);
      if (lock === undefined) continue;
      await setPaused(this.engine, container, false).then(
        () => thawed.push(container),
        () => undefined,
      );
      lock.release(thawed.includes(container));
    }
    return thawed;
  }
}

/** Does something with a container that cannot be done while it is frozen, and meanwhile nobody freezes it. */
export async function whileThawed(
  engine: Engine,
  locks: ProcessLocks,
  id: string,
  work: () => Promise<void>,
): Promise<void> {
  const deadline = performance.now() + mostFrozenMs + settleMs;
  const lock = await locks.take(id, { pollMs, note: keptThawed, deadline });
  try {
    if (lock?.isLeft === true) await setPaused(engine, id, false);
    await work();
  } finally {
    lock?.release();
  }
}
