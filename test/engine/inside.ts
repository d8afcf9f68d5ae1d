/** What runs in the containers, as the engine sees it. */
import { setTimeout as pause } from 'node:timers/promises';
import { patienceMs } from './running';
import { docker } from './support';

const lookEveryMs = 50;

/** A process in a container. */
export interface InnerProcess {
  /** Process id, as the host counts. */
  readonly pid: number;
  /** Program and arguments. */
  readonly command: string;
}

/** Name of the container of a workspace (its real path) and an agent, whether it runs or not. */
export async function containerOf(workspace: string, agent: string): Promise<string> {
  const labels = { 'containai.workspace': workspace, 'containai.agent': agent };
  const filters = Object.entries(labels).flatMap(([key, value]) => ['--filter', `label=${key}=${value}`]);
  return await docker('ps', '--all', ...filters, '--format', '{{.Names}}');
}

/** All that runs in a container. */
export async function processesIn(container: string): Promise<InnerProcess[]> {
  const [, ...lines] = (await docker('top', container, '-eo', 'pid,args')).split('\n');
  return lines.map((line) => {
    const [, pid, command] = /^\s*(\d+)\s+(.*)$/.exec(line)!;
    return { pid: Number(pid), command: command! };
  });
}

/** Resolves when a process runs whose command line is this one. */
export async function untilRuns(container: string, command: string): Promise<void> {
  await until(container, (all) => (all.some((each) => each.command === command) ? [] : all), patienceMs);
}

/**
 * Resolves when a container has nothing but what it had `before`, with the milliseconds that it took. Rejects
 * after `limitMs` with what is left. The engine tells nobody of such ends, so this looks again and again.
 */
export async function untilOnly(
  container: string,
  before: readonly InnerProcess[],
  limitMs: number,
): Promise<number> {
  const pids = before.map(({ pid }) => pid);
  return await until(container, (all) => all.filter(({ pid }) => !pids.includes(pid)), limitMs);
}

async function until(
  container: string,
  wrongOnes: (all: InnerProcess[]) => InnerProcess[],
  limitMs: number,
): Promise<number> {
  const start = performance.now();
  for (;;) {
    const wrong = wrongOnes(await processesIn(container));
    const tookMs = Math.round(performance.now() - start);
    if (wrong.length === 0) return tookMs;
    if (tookMs > limitMs) throw new Error(`${container}, after ${tookMs} ms: ${JSON.stringify(wrong)}`);
    await pause(lookEveryMs);
  }
}
