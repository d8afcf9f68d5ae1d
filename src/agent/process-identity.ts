/** Which process: its id and when it was started, which no other process of this machine ever has. */
import { readFileSync } from 'node:fs';

/** `PID.START` of this process. */
export function ownIdentity(): string {
  return `${process.pid}.${startOf(process.pid) ?? 0}`;
}

/** Whether the process of that identity runs; `undefined` for a text that is none. */
export function isRunning(identity: string): boolean | undefined {
  const [, pid, start] = /^(\d+)\.(\d+)$/.exec(identity) ?? [];
  return pid === undefined ? undefined : startOf(Number(pid)) === Number(start);
}

/**
 * In ticks since the machine was started; 0 for one that runs on a system that does not tell; `undefined` if
 * it does not run. Source: proc(5), /proc/PID/stat, field 22.
 */
function startOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name before may hold anything, so that the fields are counted from its closing bracket.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : Number(fields[19]);
  } catch {
    return isAlive(pid) ? 0 : undefined;
  }
}

/** Whether there is a process of that id, whoever it belongs to. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (reason) {
    // What may not be signalled exists.
    return (reason as NodeJS.ErrnoException).code === 'EPERM';
  }
}
