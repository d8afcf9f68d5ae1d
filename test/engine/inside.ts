/** What runs in the containers, as the engine sees it. */
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { program as kubectl } from '../kubernetes/kubectl';
import { inNamespace, inOwnNamespace, podsOf } from './cluster';
import { isKubernetes } from './engines';
import { Running } from './running';
import { patienceMs } from '../support/patience';
import { commandOf } from '../support/processes';
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
  if (isKubernetes) return podsOf(workspace)[0]!.metadata.name;
  const labels = { 'containai.workspace': workspace, 'containai.agent': agent };
  const filters = Object.entries(labels).flatMap(([key, value]) => ['--filter', `label=${key}=${value}`]);
  return await docker('ps', '--all', ...filters, '--format', '{{.Names}}');
}

/** What a container calls itself. A pod calls itself by its name. */
export async function hostnameOf(container: string): Promise<string> {
  return isKubernetes ? container : await docker('inspect', '--format', '{{.Config.Hostname}}', container);
}

/** Has the engine start a command in a container, besides what `cai` runs there. */
export function startedByEngine(container: string, ...command: readonly string[]): Running {
  const [program, args] = isKubernetes
    ? [kubectl, [...inOwnNamespace(), 'exec', container, '--', ...command]]
    : ['docker', ['exec', container, ...command]];
  return new Running(command.join(' '), spawn(program, args));
}

/** All that runs in a container: `docker top` asks podman's containers for a `ps` of their own, within their limits. */
export async function processesIn(container: string): Promise<InnerProcess[]> {
  const namespace = await namespaceIn(container);
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && namespaceOf(name) === namespace)
    .map((name) => ({ pid: Number(name), command: commandOf(name) }));
}

/** The first process of each container that was asked for, and its namespace of processes. */
const firsts = new Map<string, { readonly pid: string; readonly namespace: string }>();

/** A container that was started again, or made again, has another first process: only then the engine is asked again. */
async function namespaceIn(container: string): Promise<string> {
  const known = firsts.get(container);
  if (known !== undefined && namespaceOf(known.pid) === known.namespace) return known.namespace;
  const pid = isKubernetes
    ? firstOfPod(container)
    : await docker('inspect', '--format', '{{.State.Pid}}', container);
  const namespace = readlinkSync(`/proc/${pid}/ns/pid`);
  firsts.set(container, { pid, namespace });
  return namespace;
}

/** The nodes of the cluster for tests are on this machine: their processes are in control groups named by the pod's id. */
function firstOfPod(pod: string): string {
  const uid = inNamespace('get', 'pod', pod, '--output', 'jsonpath={.metadata.uid}');
  const keepers = readdirSync('/proc').filter(
    (name) =>
      /^\d+$/.test(name) &&
      commandOf(name).endsWith(' /run/cai/keeper') &&
      controlGroupsOf(name).includes(uid),
  );
  const first = keepers.find((pid) => !keepers.includes(String(parentOf(pid))));
  if (first === undefined) throw new Error(`nothing runs in the pod ${pod}`);
  return first;
}

function controlGroupsOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, 'utf8');
  } catch {
    // It has ended in between.
    return '';
  }
}

function namespaceOf(pid: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    // It has ended in between.
    return undefined;
  }
}

/** Resolves when a process runs whose command line is this one. */
export async function untilRuns(container: string, command: string): Promise<void> {
  await until(container, (all) => (all.some((each) => each.command === command) ? [] : all), patienceMs);
}

/** Resolves when no process runs whose command line is this one. */
export async function untilEnded(container: string, command: string): Promise<void> {
  await until(container, (all) => all.filter((each) => each.command === command), patienceMs);
}

/**
 * Resolves when a container has nothing but what it had `before`, a porter, which may be another by now, and what watches
 * an agent that runs, which begins some seconds after it; rejects after `limitMs` with what is left. The engine tells
 * nobody of such ends, so this looks again and again.
 */
export async function untilOnly(
  container: string,
  before: readonly InnerProcess[],
  limitMs: number,
): Promise<void> {
  const wrongOnes = (all: InnerProcess[]): InnerProcess[] => {
    const watchers = all.filter(({ command }) => command === 'cai-watch').map(({ pid }) => pid);
    const expected = [...before.map(({ pid }) => pid), ...watchers, ...watchers.map(parentOf)];
    return all.filter(({ pid, command }) => !expected.includes(pid) && !command.startsWith('porter'));
  };
  await until(container, wrongOnes, limitMs);
}

async function until(
  container: string,
  wrongOnes: (all: InnerProcess[]) => InnerProcess[],
  limitMs: number,
): Promise<void> {
  const deadline = Date.now() + limitMs;
  for (;;) {
    const wrong = wrongOnes(await processesIn(container));
    if (wrong.length === 0) return;
    if (Date.now() > deadline) throw new Error(`${container}, after ${limitMs} ms: ${JSON.stringify(wrong)}`);
    await pause(lookEveryMs);
  }
}

/** Ids of the processes of this machine whose parent has that id. */
export function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === parent)
    .map(Number);
}

function parentOf(pid: string | number): number | undefined {
  try {
    return Number(/^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    // It has ended in between.
    return undefined;
  }
}

/** Does something, and prints how long it took. */
export async function measured<T>(
  what: string,
  action: () => Promise<T>,
): Promise<{ result: T; tookMs: number }> {
  const start = performance.now();
  const result = await action();
  const tookMs = Math.round(performance.now() - start);
  process.stderr.write(`measured: ${what}: ${tookMs} ms\n`);
  return { result, tookMs };
}
