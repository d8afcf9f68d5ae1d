/* The machine that a run was made on, as far as it matters: nothing that names it. */
import { cpus, loadavg, release, totalmem, type } from 'node:os';

/** What is said of it, by name. */
export function machine() {
  const processors = cpus();
  return {
    processor: `${processors[0].model.trim()}, ${processors.length} cores`,
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    kernel: `${type()} ${release()}`,
    Node: process.version,
  };
}

/** How many processes wanted a processor in the last minute: above 1 before a run, it will be noisy. */
export function load() {
  return loadavg()[0];
}
