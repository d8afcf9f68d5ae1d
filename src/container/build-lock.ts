/** One build at a time between processes. */
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CaiError, messageOf } from '../errors';

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
  const own = join(folder, `${name}.${process.pid}.${startOf(process.pid) ?? 0}.lock`);
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
    const [, pid, start] = /^\.(\d+)\.(\d+)\.lock$/.exec(file.slice(name.length)) ?? [];
    if (pid === undefined) continue;
    if (startOf(Number(pid)) === Number(start)) return Number(pid);
    rmSync(path, { force: true });
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

/**
 * When a process was started, in ticks since the machine was; 0 for one that runs on a system that does not
 * tell; `undefined` if it does not run. Source: proc(5), /proc/PID/stat, field 22.
 */
function startOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name before may hold anything, so that the fields are counted from its closing bracket.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : Number(fields[19]);
  } catch {
    return runsByPid(pid) ? 0 : undefined;
  }
}

function runsByPid(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (reason) {
    // What may not be signalled exists.
    return (reason as NodeJS.ErrnoException).code === 'EPERM';
  }
}
