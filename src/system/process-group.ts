/** Process groups: what a program started, as far as that did not leave the group. */
import { readdirSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { processStat } from './process-identity';
import { unlessFails } from './unless';

/** Sends a signal to every process of the group that `pid` leads; false when the group is empty. */
export function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid, signal);
  } catch (error) {
    // What may not be signalled exists.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** Whether a process of the group still runs. Zombies, which wait for init to take note, do not. */
export function isGroupAlive(pid: number): boolean {
  return signalGroup(pid, 0) && (runningGroups()?.has(pid) ?? true);
}

/** How long the processes of a group may take to end after each signal, and how often we look, in milliseconds. */
const endMs = 2_000;
const checkMs = 50;

/** Ends every process of a group, by SIGTERM and then by SIGKILL. What that does not end is given up. */
export async function endGroup(pid: number): Promise<void> {
  signalGroup(pid, 'SIGTERM');
  for (let waitedMs = 0; isGroupAlive(pid) && waitedMs < 2 * endMs; waitedMs += checkMs) {
    await setTimeout(checkMs);
    if (waitedMs >= endMs) signalGroup(pid, 'SIGKILL');
  }
}

/** Groups with a running process, where the system tells (Linux). */
function runningGroups(): Set<number> | undefined {
  const pids = unlessFails(() => readdirSync('/proc'))?.filter((name) => /^\d+$/.test(name));
  const stats = pids?.map((pid) => processStat(Number(pid)));
  return stats && new Set(stats.flatMap((stat) => (stat?.isRunning === true ? [stat.group] : [])));
}
