/* What Linux tells of a process. */
import { readdirSync, readFileSync } from 'node:fs';

/** Processor time that all its threads have had, in microseconds. */
export function cpuUs(pid) {
  const folder = `/proc/${pid}/task`;
  const times = readdirSync(folder).map((thread) => readFileSync(`${folder}/${thread}/schedstat`, 'utf8'));
  return times.reduce((sum, text) => sum + Number(text.split(' ', 1)), 0) / 1_000;
}

/** Resident memory, in MiB. All processes of the benchmark map the same `node`, so differences are their own. */
export function residentMiB(pid) {
  return Number(/^Rss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))[1]) / 1024;
}

/** Resident memory in MiB, where what processes share counts for each as its share. */
export function proportionalMiB(pid) {
  return Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))[1]) / 1024;
}

/** The most that it has ever been, in MiB. */
export function mostMiB(pid) {
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;
}
