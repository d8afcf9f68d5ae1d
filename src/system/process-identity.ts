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
 * it does not run.
 */
function startOf(pid: number): number | undefined {
  const stat = processStat(pid);
  if (stat === undefined) return isAlive(pid) ? 0 : undefined;
  return stat.isRunning ? stat.startTicks : undefined;
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

/**
 * What Linux tells of a process; `undefined`: there is none, or the system does not tell. Zombies, which wait for their
 * parent to take note, do not run; `isStopped`: by a signal, and not by a debugger; `startTicks` count from the start of
 * the machine. Source: proc(5), /proc/PID/stat.
 */
export function processStat(pid: number) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name before may hold anything, so that the fields are counted from its closing bracket.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return {
      isRunning: fields[0] !== 'Z' && fields[0] !== 'X',
      isStopped: fields[0] === 'T',
      group: Number(fields[2]),
      startTicks: Number(fields[19]),
    };
  } catch {
    return undefined;
  }
}
