/** Which process: its id and when it was started, which no other process of this machine ever has. */
import { processStat } from './process-stat';

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
