/** Commands in process groups of their own, which end in time. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';

/** How long a group has to end after SIGTERM, in milliseconds. */
const graceMs = 15_000;

/** Process ids of the groups that run now. */
const running = new Set();

function kill(group, signal) {
  try {
    process.kill(-group, signal);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

/**
 * Runs a command, with its output in the file `log`, for at most `limitMs`. Resolves once its first process is gone, with
 * why it failed, or `undefined` if its exit status was 0. A command that is over its limit is ended with its whole group.
 */
export async function limited([program, ...args], { env, log, limitMs }) {
  const output = openSync(log, 'w');
  const child = spawn(program, args, { env, stdio: ['ignore', output, output], detached: true });
  closeSync(output);
  const ended = once(child, 'exit');
  // `once` rejects with it, which is awaited below.
  ended.catch(() => undefined);
  const { pid } = child;
  if (pid === undefined) return await ended.catch((error) => error.message);
  running.add(pid);
  let isOver = false;
  const timers = [
    setTimeout(() => {
      isOver = true;
      kill(pid, 'SIGTERM');
    }, limitMs),
    setTimeout(() => kill(pid, 'SIGKILL'), limitMs + graceMs),
  ];
  const [status, signal] = await ended;
  for (const timer of timers) clearTimeout(timer);
  // Whoever of the group has not heeded SIGTERM.
  if (isOver) kill(pid, 'SIGKILL');
  running.delete(pid);
  if (isOver) return `over ${Math.round(limitMs / 1000)} s`;
  if (signal !== null) return `ended by ${signal}`;
  return status === 0 ? undefined : `exit status ${status}`;
}

let ending = false;

/** Whether a signal ends this process: then nothing else begins. */
export const isEnding = () => ending;

/** Ends what runs at a signal, and then this process as a shell would, once `cleanUp` is over. */
export function endBySignals(cleanUp) {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.once(signal, () => {
      ending = true;
      for (const group of running) kill(group, 'SIGKILL');
      void cleanUp().finally(() => process.exit(128 + constants.signals[signal]));
    });
  }
}

/** The last lines of a file. */
export function lastLines(file, count) {
  return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-count);
}
