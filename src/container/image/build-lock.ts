/** One build at a time between processes. */
import { closeSync, mkdirSync, openSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CaiError, messageOf } from '../../errors';
import { isRunning, ownIdentity } from '../../system/process-identity';

/** How often a process that waits looks again, in milliseconds; up to twice that, at random. */
const pollMs = 150;

/**
 * Runs `work` while no other process does so under the same name; waits for the others without a limit,
 * and tells `onWait` once for whom. What a process left behind that has died is no obstacle. `folder` is
 * made if it is missing; `name` is fit for a file name. Rejects as `work` does, and with
 * `CaiError('IMAGE')` where the folder cannot be used.
 */
export async function withBuildLock<T>(
  folder: string,
  name: string,
  onWait: (pid: number) => void,
  work: () => Promise<T>,
): Promise<T> {
  const lock = await acquire(folder, name, onWait);
  try {
    return await work();
  } finally {
    rmSync(lock, { force: true });
  }
}

/**
 * The file of each process has a name of its own, made of its pid and of the time it was started, which
 * no other process ever has: it can be removed by anybody once that process is gone, without the danger of
 * removing a new owner's.
 */
async function acquire(folder: string, name: string, onWait: (pid: number) => void): Promise<string> {
  const own = join(folder, `${name}.${ownIdentity()}.lock`);
  let hasTold = false;
  for (;;) {
    const holder = otherHolder(folder, name, own);
    // Two that make their files at once see each other, and both step back.
    if (holder === undefined && create(own)) {
      if (otherHolder(folder, name, own) === undefined) return own;
      rmSync(own, { force: true });
    }
    if (holder !== undefined && !hasTold) {
      hasTold = true;
      onWait(holder);
    }
    await sleep(pollMs * (1 + Math.random()));
  }
}

/** False if this process has the lock already. */
function create(path: string): boolean {
  try {
    closeSync(openSync(path, 'wx', 0o600));
    return true;
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw unusable(path, reason);
  }
}

/** The process that has the lock or is about to; files of dead ones are removed. */
function otherHolder(folder: string, name: string, own: string): number | undefined {
  for (const file of list(folder)) {
    const path = join(folder, file);
    if (path === own || !file.startsWith(`${name}.`)) continue;
    const identity = file.slice(name.length + 1).replace(/\.lock$/, '');
    const runs = isRunning(identity);
    if (runs === true) return Number.parseInt(identity, 10);
    if (runs === false) rmSync(path, { force: true });
  }
  return undefined;
}

function list(folder: string): string[] {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return readdirSync(folder);
  } catch (reason) {
    throw unusable(folder, reason);
  }
}

function unusable(path: string, reason: unknown): CaiError {
  const what = `${path}, which keeps builds apart, cannot be written: ${messageOf(reason)}`;
  return new CaiError('IMAGE', what, undefined, { cause: reason });
}
