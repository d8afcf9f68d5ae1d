/** Process groups: what a program started, as far as that did not leave the group. */
import { readFileSync, readdirSync } from 'node:fs';

/** Sends a signal to every process of the group that `pid` leads; false when there is none. */
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

/** Groups with a running process, where the system tells (Linux). Source: proc(5), /proc/PID/stat. */
function runningGroups(): Set<number> | undefined {
  try {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    return new Set(pids.flatMap(groupIfRunning));
  } catch {
    return undefined;
  }
}

function groupIfRunning(pid: string): number[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name before may hold anything, so that the fields are counted from its closing bracket.
    const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' || state === 'X' ? [] : [Number(group)];
  } catch {
    // It ended between the two reads.
    return [];
  }
}
