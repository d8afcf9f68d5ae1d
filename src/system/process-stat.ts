import { readFileSync } from 'node:fs';

/** What Linux tells of a process. */
export interface ProcessStat {
  /** Zombies, which wait for their parent to take note, do not run. */
  readonly isRunning: boolean;
  /** It was stopped by a signal, and not by a debugger. */
  readonly isStopped: boolean;
  /** Id of its process group. */
  readonly group: number;
  /** When it was started, in ticks since the machine was. */
  readonly startTicks: number;
}

/** `undefined`: there is no such process, or the system does not tell. Source: proc(5), /proc/PID/stat. */
export function processStat(pid: number): ProcessStat | undefined {
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
