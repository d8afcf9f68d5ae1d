/** Processes of the system, by id. */
import { readdirSync, readFileSync } from 'node:fs';
import { patienceMs } from './patience';

/** Time between two looks, in milliseconds: looking all the time takes the processor from those that are looked at. */
const lookEveryMs = 5;

/** Whether a process runs; one that only waits to be reaped does not. */
export function isAlive(pid: number): boolean {
  return ![undefined, 'Z'].includes(stateOf(`${pid}`));
}

/** Resolves when the processes are gone. */
export async function untilGone(...pids: readonly number[]): Promise<void> {
  await until(() => !pids.some(isAlive), `the processes ${pids.join()} are not gone`);
}

/** Resolves when none of the processes has anything to do: all their threads were seen asleep many times in a row. */
export async function untilIdle(...pids: readonly number[]): Promise<void> {
  let idleLooks = 0;
  await until(() => {
    idleLooks = pids.every(isAsleep) ? idleLooks + 1 : 0;
    return idleLooks === 20;
  }, `the processes ${pids.join()} do not come to rest`);
}

async function until(isSo: () => boolean, complaint: string): Promise<void> {
  const deadline = Date.now() + patienceMs;
  while (!isSo()) {
    if (Date.now() > deadline) throw new Error(complaint);
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
  }
}

/** Resident memory of a process: now, and the most that it ever was. */
export function residentBytes(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const bytes = (name: string): number =>
    1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)![1]);
  return { now: bytes('VmRSS'), peak: bytes('VmHWM') };
}

/** What a process has written so far, to whatever it may be, in bytes. */
export function writtenBytes(pid: number): number {
  return Number(/^wchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))![1]);
}

/** The command line of a process, with spaces between its words; '' where there is none, or for a process that has ended. */
export function commandOf(pid: string | number): string {
  return readOrNothing(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trimEnd();
}

/** The text of a file of the kernel; '' where it cannot be read: processes end while they are looked at. */
export function readOrNothing(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** The main thread alone may sleep while others collect its garbage. */
function isAsleep(pid: number): boolean {
  const threads = readdirSync(`/proc/${pid}/task`);
  return threads.every((thread) => stateOf(`${pid}/task/${thread}`) === 'S');
}

/** State of a process or thread, as `ps` writes it; undefined when there is none. */
function stateOf(entry: string): string | undefined {
  return /^\d+ \(.*\) (\S)/s.exec(readOrNothing(`/proc/${entry}/stat`))?.[1];
}
