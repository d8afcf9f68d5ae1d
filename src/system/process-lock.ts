/** Locks between all processes that have the folder, which a process that dies does not keep. */
import { readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isRunning, ownIdentity } from './process-identity';
import { makeFolder } from './files/make-folder';
import { unlessFails } from './unless';

/** Of a process in another container or on another machine, nothing is known but the time of its file: in milliseconds. */
const renewMs = 5_000;
const leaseMs = 30_000;

/** A process that has a lock, is about to take it, or had it when it died. */
interface LockHolder {
  readonly name: string;
  readonly pid: number;
  readonly isAlive: boolean;
  readonly path: string;
}

export interface Lock {
  /** Gives it back. */
  release(): void;
}

/**
 * The locks of one folder, which may have other files. Each process that has a lock has its own file there, named
 * after the lock and the process. No other process ever has that name: whoever finds the file of a dead process can remove
 * it without the danger of removing the one of a new owner. A process that does not count here, because it is in another
 * container or on another machine, is taken for dead when it has not renewed its file for half a minute: clocks of
 * machines that share the folder must not differ by more.
 */
export class ProcessLocks {
  /** `folder` is made when it is needed. */
  constructor(private readonly folder: string) {}

  /** All holders of all locks, or of that one alone; none if the folder cannot be read. */
  holders(of?: string): LockHolder[] {
    return (unlessFails(() => readdirSync(this.folder)) ?? []).flatMap((file) => {
      const [, name, identity] = /^([^.].*)\.(\d+\.\d+(?:@[\w-]+)?)\.lock$/.exec(file) ?? [];
      // Whoever has another lock is not looked at: there can be thousands.
      if (name === undefined || identity === undefined || (of ?? name) !== name) return [];
      const path = join(this.folder, file);
      const isAlive = isRunning(identity) ?? isRenewed(path);
      return [{ name, pid: Number.parseInt(identity, 10), isAlive, path }];
    });
  }

  /**
   * The lock; `undefined`: a living process has it, or this one. `name` must be fit for a file name. Fails with the
   * system's error if the folder cannot be used.
   */
  tryTake(name: string): Lock | undefined {
    const path = this.#ownFile(name);
    if (this.#others(name).some(({ isAlive }) => isAlive) || !this.#create(path)) return undefined;
    // Two that make their files at once see each other, and both step back.
    const others = this.#others(name);
    if (others.some(({ isAlive }) => isAlive)) {
      rmSync(path, { force: true });
      return undefined;
    }
    const renewal = setInterval(() => renew(path), renewMs).unref();
    const release = (): void => {
      clearInterval(renewal);
      for (const file of [...others, { path }]) rmSync(file.path, { force: true });
    };
    return { release };
  }

  /**
   * As `tryTake`, but waits; `undefined` at the `deadline` (of `performance.now()`). Tries every `pollMs` milliseconds, up
   * to three times that, at random, so that two do not meet again. `onWait` is called once with another process that has
   * the lock.
   */
  async take(
    name: string,
    {
      pollMs,
      deadline = Infinity,
      onWait,
    }: { pollMs: number; deadline?: number; onWait?: (pid: number) => void },
  ): Promise<Lock | undefined> {
    for (let hasTold = false; ;) {
      const lock = this.tryTake(name);
      if (lock !== undefined || performance.now() >= deadline) return lock;
      const other = hasTold ? undefined : this.#others(name).find(({ isAlive }) => isAlive);
      if (other !== undefined) {
        hasTold = true;
        onWait?.(other.pid);
      }
      await sleep(pollMs * (1 + 2 * Math.random()));
    }
  }

  /** What `use` returns while this process has the lock. Waits as `take` does; after `limitMs` it rejects with what `late` makes. */
  async hold<T>(
    name: string,
    {
      limitMs = Infinity,
      late,
      ...how
    }: { pollMs: number; limitMs?: number; late?: () => Error; onWait?: (pid: number) => void },
    use: () => T | Promise<T>,
  ): Promise<T> {
    const lock = await this.take(name, { ...how, deadline: performance.now() + limitMs });
    if (lock === undefined) throw late!();
    try {
      return await use();
    } finally {
      lock.release();
    }
  }

  #ownFile(name: string): string {
    return join(this.folder, `${name}.${ownIdentity()}.lock`);
  }

  #others(name: string): LockHolder[] {
    return this.holders(name).filter(({ path }) => path !== this.#ownFile(name));
  }

  /** False if this process has it already. */
  #create(path: string): boolean {
    makeFolder(this.folder);
    try {
      writeFileSync(path, '', { flag: 'wx', mode: 0o600 });
      return true;
    } catch (reason) {
      if ((reason as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw reason;
    }
  }
}

function isRenewed(path: string): boolean {
  const renewedAt = unlessFails(() => statSync(path).mtimeMs) ?? 0;
  return Math.abs(Date.now() - renewedAt) < leaseMs;
}

function renew(path: string): void {
  const now = new Date();
  unlessFails(() => utimesSync(path, now, now));
}
