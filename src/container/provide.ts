/** Finds the container of a workspace and an agent; makes and starts it when needed. */
import { release } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { CaiError, messageOf } from '../errors';
import { gitIdentity } from '../workspace/git';
import { checkContainer } from './check';
import { containerUser } from './spec/container-user';
import type { ContainerInfo } from './engine/container-info';
import { createRequest } from './spec/create-request';
import type { Engine } from './engine/engine';
import type { ImageInfo } from './engine/engine-info';
import { freezeLocks, Frozen } from './freeze';
import { containerFiles, mountIdentities, systemCaFile } from './spec/files';
import { newHostKey } from './ssh/keys';
import { lackingProfile, profileFor } from './engine/seccomp';
import { isRunning } from '../system/process-identity';
import { verdictOn } from './reuse';
import type { Reuse } from './reuse';
import { allBinds, containerName, dataVolumeOf, label } from './spec/spec';
import type { Circumstances, Settings } from './spec/spec';

/** What container is wanted, and who is to be told what. */
export interface ContainerRequest extends Reuse {
  /** Its image, built if it is missing. */
  readonly image: () => Promise<ImageInfo>;
  /** Whether an existing container is replaced. */
  readonly isFresh: boolean;
  /** Finds git's author. */
  readonly env: NodeJS.ProcessEnv;
}

/** A container that runs. */
export interface RunningContainer {
  /** The engine's id of it. */
  readonly id: string;
  /** Its name. */
  readonly name: string;
  /** When it was started, in milliseconds since 1970. */
  readonly startedAt: number | undefined;
  /** Port of its sshd on the host's loopback. */
  readonly port: number;
  /** Fingerprint of the host key that it was made with. */
  readonly hostKey: string;
  /** Environment of its first process: the image's and ours, `NAME=value`. */
  readonly env: readonly string[];
  /** Its host name. */
  readonly hostname: string;
  /** Id of its image, `sha256:` and 64 hex digits. */
  readonly imageId: string;
}

/** How long another process may take from creating a container to starting it. */
const makerPatienceMs = 30_000;

/**
 * The running container for the request. Its unique name is the lock between processes: of several that
 * create it at once one succeeds, and the others wait for that one to start it. Rejects with `CaiError`
 * (`FOREIGN_CONTAINER`, `REPLACED`, `IMAGE`, `CONTAINER_START`).
 */
export async function provideContainer(engine: Engine, request: ContainerRequest): Promise<RunningContainer> {
  const { settings } = request;
  const name = containerName(settings);
  const frozen = new Frozen(engine, freezeLocks(request.env));
  let mustReplace = request.isFresh;
  let hasStarted = false;
  let image: ImageInfo | undefined;
  for (;;) {
    const info = await engine.inspectContainer(name);
    if (info === undefined) {
      mustReplace = false;
      await make(engine, name, (image ??= await request.image()), request);
      continue;
    }
    if (info.state === 'removing' || info.state === 'dead') {
      await sleep(50);
      continue;
    }
    if (mustReplace && info.labels[label.managed] === 'true') {
      // Without an image, which may take minutes to build or cannot be, the old one stays.
      image ??= await request.image();
      await engine.removeContainer(info.id, { force: true });
      continue;
    }
    checkContainer(info, settings.workspace, settings.agent);
    if (info.state === 'created') {
      await waitForMaker(engine, info);
      continue;
    }
    if (await frozen.mustWaitFor(info)) continue;
    const verdict = await verdictOn(engine, info, request, image);
    if (verdict === 'need image') image = await request.image();
    else if (verdict === 'replace') mustReplace = true;
    else if (info.isRunning) return running(info);
    else if (hasStarted) throw await endedAtOnce(engine, info);
    else {
      hasStarted = true;
      await start(engine, info, settings);
    }
  }
}

function running(info: ContainerInfo): RunningContainer {
  const { id, name, startedAt, hostPort, env, hostname, imageId, labels } = info;
  if (hostPort === undefined) {
    throw new CaiError(
      'CONTAINER_START',
      `the container ${name} has no port for SSH on this machine: use --fresh to make it anew`,
    );
  }
  const hostKey = labels[label.hostKey] ?? '';
  return { id, name, startedAt, port: hostPort, hostKey, env, hostname, imageId };
}

/** Returns when the name may have been taken by somebody else, too. */
async function make(
  engine: Engine,
  name: string,
  image: ImageInfo,
  request: ContainerRequest,
): Promise<void> {
  const { settings, env, tell } = request;
  const about = await engine.about();
  const { memoryBytes, cpus, isRootless, limits } = about;
  const { user, notice } = await containerUser(settings.hostUser, settings.workspace, isRootless);
  const circumstances: Circumstances = {
    image: image.id,
    user,
    engineMemoryBytes: memoryBytes,
    engineCpus: cpus,
    limits,
    seccomp: profileFor(about, env),
  };
  const { privateKey, fingerprint } = newHostKey();
  const volume = dataVolumeOf(settings, user);
  await engine.createVolume(volume.name, volume.labels);
  const id = await engine.createContainer(name, createRequest(settings, circumstances, fingerprint));
  if (id === undefined) {
    // The engine may take a moment to know of the container whose name it has given away.
    await sleep(20);
    return;
  }
  if (notice !== undefined) tell(notice);
  for (const limit of unlimitedBy(limits))
    tell(`the engine cannot limit ${limit}: the container can use all`);
  const lacking = lackingProfile(about, env);
  if (lacking !== undefined) tell(lacking);
  try {
    await engine.putFiles(id, await filesFor(engine, id, circumstances, privateKey, request));
    await startWith(engine, id, settings);
  } catch (reason) {
    if (isSilent(reason)) throw reason;
    if (await isGone(engine, id)) return;
    // Half made it would be in everybody's way.
    await engine.removeContainer(id, { force: true }).catch(() => undefined);
    throw cannotStart(name, reason);
  }
}

function unlimitedBy({ memory, pids }: Circumstances['limits']): string[] {
  return [...(memory ? [] : ['memory']), ...(pids ? [] : ['the number of processes'])];
}

async function filesFor(
  engine: Engine,
  id: string,
  { user }: Circumstances,
  hostKey: string,
  { settings, env }: ContainerRequest,
): Promise<Buffer> {
  const read = async (path: string) => (await engine.readFile(id, path))?.toString() ?? '';
  const [passwd, group, identity] = await Promise.all([
    read('/etc/passwd'),
    read('/etc/group'),
    gitIdentity(env),
  ]);
  const extra = settings.certificates;
  return await containerFiles({
    user,
    workingFolder: settings.workingFolder,
    authorizedKey: settings.authorizedKey,
    hostKey,
    passwd,
    group,
    gitIdentity: identity,
    isProtected: settings.protection !== undefined,
    ...(extra !== undefined && { ca: { extra, system: await read(systemCaFile) } }),
  });
}

/** A container that stays half made, or whose maker has died, is removed. */
async function waitForMaker(engine: Engine, info: ContainerInfo): Promise<void> {
  const end = Date.now() + makerPatienceMs;
  const maker = info.labels[label.maker] ?? '';
  for (
    let pauseMs = 20;
    Date.now() < end && isRunning(maker) !== false;
    pauseMs = Math.min(2 * pauseMs, 500)
  ) {
    await sleep(pauseMs);
    const now = await engine.inspectContainer(info.id);
    if (now?.state !== 'created') return;
  }
  await engine.removeContainer(info.id, { force: true });
}

/** The keeper in it ends it if something else is mounted than what was looked at. */
async function startWith(engine: Engine, id: string, settings: Settings): Promise<void> {
  const { kernel } = await engine.about();
  await engine.putFiles(id, await mountIdentities(allBinds(settings), kernel === release()));
  await engine.startContainer(id);
}

async function start(engine: Engine, info: ContainerInfo, settings: Settings): Promise<void> {
  try {
    await startWith(engine, info.id, settings);
  } catch (reason) {
    if (isSilent(reason)) throw reason;
    if (await isGone(engine, info.id)) return;
    throw cannotStart(info.name, reason);
  }
}

/** The engine is not asked again. What it has half made by then, the next use removes: its maker is gone. */
function isSilent(reason: unknown): boolean {
  return reason instanceof CaiError && reason.code === 'NOT_READY';
}

/** Whether somebody else has removed it, or is about to, as with `--fresh`. */
async function isGone(engine: Engine, id: string): Promise<boolean> {
  const info = await engine.inspectContainer(id);
  return info === undefined || info.state === 'removing' || info.state === 'dead';
}

/** What to tell of a container that has ended before anything could run in it. */
export async function endedAtOnce(engine: Engine, { id, name, exitCode }: ContainerInfo): Promise<CaiError> {
  const log = (await engine.logsTail(id, 5)).trim();
  const what = `the container ${name} ended with status ${exitCode} as soon as it was started`;
  const why = log === '' ? '' : `:\n${log}\n`;
  return new CaiError(
    'CONTAINER_START',
    `${what}${why || '; '}make it anew with --fresh; if that does not help, "cai build" makes the image anew`,
  );
}

function cannotStart(name: string, reason: unknown): CaiError {
  if (reason instanceof CaiError && reason.code !== 'NO_ENGINE') return reason;
  const what = `the container ${name} cannot be started: ${messageOf(reason)}`;
  return new CaiError('CONTAINER_START', what, undefined, { cause: reason });
}
