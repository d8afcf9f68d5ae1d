/** Why a container has ended or cannot be reached, and why a command in it was killed. */
import { setTimeout as sleep } from 'node:timers/promises';
import { endedBy } from '../agent/agent-end';
import { CaiError } from '../errors';
import { killedStatus, type ContainerInfo } from './engine/container-info';
import type { Engine } from './engine/engine';
import { notShared, notSharedStatus } from './spec/mounts/shared-folders';
import { textInside } from './ssh/short-command';
import type { SshConnection } from './ssh/ssh';

/** How long after a connection was lost the end of its container may become known, in milliseconds. */
const endNoticeMs = 2_000;
/** How long a container that was killed to be removed may still be there, in milliseconds. */
const removalMs = 500;
/** How long the engine may take to tell why it has ended, in milliseconds: what hangs is told within 30 s in all. */
const explainMs = 8_000;

/** With which the keeper ends the container for the sake of its budget: ENOSPC. Source: src/container/inside/keeper. */
const diskFullStatus = 28;

/** What to do about a budget that is used up. */
const diskRemedy =
  "remove what is not needed, or raise container.disk in the configuration; --fresh recreates the container, without what lies outside the workspace and the agent's data";

/** Whether the connection to a container is lost, or was never there. */
export function isUnreached(reason: unknown): reason is CaiError {
  return reason instanceof CaiError && reason.code === 'SSH_CONNECT';
}

/**
 * What was thrown while something was done in a container; if the container has ended and the engine is still there, that
 * and why.
 */
export async function explained(
  reason: unknown,
  engine: Engine,
  { id, name }: Pick<ContainerInfo, 'id' | 'name'>,
): Promise<unknown> {
  if (!isUnreached(reason)) return reason;
  const unknown = sleep(explainMs, 'unknown' as const, { ref: false });
  const info = await Promise.race([ended(engine, id).catch(() => 'unknown' as const), unknown]);
  if (info === 'unknown') return reason;
  if (info?.isRunning === true) return (await noRoomIn(engine, info, reason)) ?? reason;
  const code = info === undefined ? 'CONTAINER_NOT_FOUND' : 'CONTAINER_START';
  const why = info === undefined ? 'was removed' : endingOf(info);
  return new CaiError(code, `the container ${name} ${why}`, undefined, { cause: reason });
}

/** A container that no longer answers, as it is once the engine has had time to hear that it has ended. */
async function ended(engine: Engine, id: string): Promise<ContainerInfo | undefined> {
  await Promise.race([engine.waitContainer(id).catch(() => undefined), sleep(endNoticeMs)]);
  const info = await engine.inspectContainer(id);
  if (info?.exitCode !== killedStatus || info.isOomKilled) return info;
  // One that is removed is killed first.
  await sleep(removalMs);
  return await engine.inspectContainer(id);
}

/** Why a container has ended. Its keeper ends with 0 when it is told to end. */
function endingOf({ isOomKilled, exitCode, endedBecause }: ContainerInfo): string {
  if (endedBecause !== undefined)
    return `was ended by the engine (${endedBecause}): the next command makes another one`;
  if (isOomKilled) return 'was killed for using too much memory: raise container.memory in the configuration';
  if (exitCode === 0) return 'was stopped';
  if (exitCode !== diskFullStatus) return endedBy(exitCode);
  return `was ended, because it has used up its disk budget and something went on writing: ${diskRemedy}`;
}

/** What to tell of a container that has ended before anything could run in it. */
export async function endedAtOnce(engine: Engine, info: ContainerInfo): Promise<CaiError> {
  const { id, name, exitCode } = info;
  const log = (await engine.logsTail(id, 5)).trim();
  if (exitCode === notSharedStatus) return notShared((await engine.about()).machine, info, log);
  const what = `the container ${name} ended with status ${exitCode} as soon as it was started`;
  const why = log === '' ? '; ' : `:\n${log}\n`;
  const remedy = 'recreate it with --fresh; if that does not help, "cai build" rebuilds the image';
  return new CaiError('CONTAINER_START', `${what}${why}${remedy}`);
}

/** A connection and a command on it need that many at once. */
const neededProcesses = 8;

/**
 * What to say when a container cannot be reached, or starts nothing, because its limit of processes is used up;
 * `undefined`: it is not, or the engine does not tell.
 */
export async function noRoomIn(
  engine: Pick<Engine, 'inspectContainer' | 'processCount'>,
  { id, name }: { readonly id: string; readonly name: string },
  cause: unknown,
): Promise<CaiError | undefined> {
  const asking = Promise.all([engine.processCount(id), engine.inspectContainer(id)]);
  const [count, info] = await asking.catch(() => []);
  const limit = info?.rights.pids ?? 0;
  if (count === undefined || limit === 0 || limit - count >= neededProcesses) return undefined;
  const what = `the container ${name} has no room for another process (${count} of ${limit}): end its commands, if need be all with "cai stop", or raise container.pids in the configuration`;
  return new CaiError('SSH_CONNECT', what, undefined, { cause });
}

/**
 * Why a command was killed, which neither the kernel nor the keeper tells it; `undefined`: nobody knows. `diskBytes`: the
 * container's budget, if it has one.
 */
export async function whyKilled(
  connection: Pick<SshConnection, 'run'>,
  diskBytes: number | undefined,
): Promise<string | undefined> {
  if (diskBytes !== undefined && (await isDiskUsedUp(connection)))
    return `the command was killed, because the container has used up its disk budget and the command went on writing: ${diskRemedy}`;
  const count = await memoryKills(connection);
  if (count === 0) return undefined;
  return `the command was killed; the container has run out of memory, and ${count} of its processes were killed so far: raise container.memory in the configuration`;
}

/** Whether the container's budget is used up, as far as that can be found out. */
async function isDiskUsedUp(connection: Pick<SshConnection, 'run'>): Promise<boolean> {
  return (await textInside(connection, ['/run/cai/disk-use'])).trim() === '100';
}

/** Of the second version of control groups and of the first. Source: Linux, cgroup-v2.rst and memory.rst. */
const counters = ['/sys/fs/cgroup/memory.events', '/sys/fs/cgroup/memory/memory.oom_control'];

/**
 * How many processes the kernel has killed in the container for want of memory since it was started; 0 also
 * if that cannot be found out.
 */
async function memoryKills(connection: Pick<SshConnection, 'run'>): Promise<number> {
  const [, count] = /^oom_kill ([0-9]+)$/m.exec(await textInside(connection, counters)) ?? [];
  return Number(count ?? 0);
}
