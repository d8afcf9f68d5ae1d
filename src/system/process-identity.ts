/** Which process: its id, when it was started, and where its id counts, which no other process ever has together. */
import { readFileSync, readlinkSync } from 'node:fs';
import { unlessFails } from './unless';

/** `PID.START@PLACE` of this process; without a place on a system that does not tell. Fit for a file name. */
export function ownIdentity(): string {
  return `${process.pid}.${startOf(process.pid) ?? 0}${ownPlace()}`;
}

/**
 * Whether the process of that identity runs. `undefined` for a text that is no identity, and for a process whose id counts
 * elsewhere: on another machine, or in another container of this one.
 */
export function isRunning(identity: string): boolean | undefined {
  const [, pid, start, place] = /^(\d+)\.(\d+)(@[\w-]+)?$/.exec(identity) ?? [];
  if (pid === undefined || (place !== undefined && place !== ownPlace())) return undefined;
  return startOf(Number(pid)) === Number(start);
}

let known: string | undefined;

/** A process id counts in one namespace, and on one machine from its start to its end. Source: pid_namespaces(7). */
function ownPlace(): string {
  try {
    known ??= `@${readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()}-${/\d+/.exec(readlinkSync('/proc/self/ns/pid'))![0]}`;
  } catch {
    // Not Linux: its state folders are not in containers.
    known = '';
  }
  return known;
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
 * What Linux tells of a process; `undefined`: it does not run, or the system does not tell. Zombies, which wait for their
 * parent to take note, do not run; `isStopped`: by a signal, and not by a debugger; `startTicks` count from the start of
 * the machine. Source: proc(5), /proc/PID/stat.
 */
export function processStat(pid: number) {
  const stat = unlessFails(() => readFileSync(`/proc/${pid}/stat`, 'latin1'));
  // The name before may hold anything, so that the fields are counted from its closing bracket.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (
    fields && {
      isRunning: fields[0] !== 'Z' && fields[0] !== 'X',
      isStopped: fields[0] === 'T',
      group: Number(fields[2]),
      startTicks: Number(fields[19]),
    }
  );
}
