import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { commandOf, readOrNothing } from '../support/processes';

/** Environment variable that everything started by one test inherits, with a value of its own. */
export const markerName = 'CAI_TEST_MARKER';

const lookEveryMs = 50;

/** A process that carries a marker. */
export interface MarkedProcess {
  readonly pid: number;
  readonly command: string;
}

/** All processes of this machine whose environment holds the marker. Linux only. */
export function markedProcesses(marker: string): MarkedProcess[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => readOrNothing(`/proc/${pid}/environ`).split('\0').includes(`${markerName}=${marker}`))
    .map((pid) => ({
      pid: Number(pid),
      command: commandOf(pid),
    }));
}

/**
 * Waits until no process carries the marker, at most `graceMs`. What is left then is killed and returned.
 * The kernel tells nobody of a stranger's end, so this looks again and again.
 */
export async function waitForLeftovers(marker: string, graceMs: number): Promise<MarkedProcess[]> {
  const deadline = Date.now() + graceMs;
  for (;;) {
    const left = markedProcesses(marker);
    if (left.length === 0) return left;
    if (Date.now() > deadline) {
      left.forEach(({ pid }) => killIfThere(pid));
      return left;
    }
    await delay(lookEveryMs);
  }
}

/** Kills a process, unless it has ended by itself. */
export function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself in between.
  }
}
