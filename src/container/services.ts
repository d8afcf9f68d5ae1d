/**
 * Services beside the container of an agent. Each has a container that shares the network of that one, and so its
 * loopback address: nobody else reaches it, and it reaches nobody else.
 */
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { CaiError, messageOf } from '../errors';
import { quoted } from '../system/quoted';
import { within } from '../system/time-limit';
import type { ContainerInfo } from './engine/container-info';
import type { Engine } from './engine/engine';
import type { ImageInfo } from './engine/engine-info';
import { imageNow } from './engine/image-store';
import type { Progress } from './image/progress';
import { haveVolume } from './make';
import { Patience } from './patience';
import {
  serviceContainer,
  servicePlan,
  servicesIn,
  serviceVolume,
  serviceVolumeLabels,
  type Owner,
  type Service,
} from './spec/service';
import { label } from './spec/labels';
import type { Settings } from './spec/spec';

interface ServicesRequest {
  readonly settings: Settings;
  /** Takes a sentence for the user. */
  readonly tell: (notice: string) => void;
  readonly progress: Progress;
  /** The image of a service, built if it is missing; `undefined`: nobody says what that one is built from. */
  readonly buildImage: (name: string) => Promise<ImageInfo | undefined>;
}

/** How long a service may take until its health command ends with 0, and the pause between two tries, in milliseconds. */
const [readyMs, tryMs] = [60_000, 250];
/** How long it may take, in milliseconds, to listen at a port of its image: it need not, as it may use another one. */
const listenMs = 15_000;
/** How long it may take to end, in seconds: databases write what they hold. */
const patienceSeconds = 15;

/**
 * Has the services beside a running container run, and waits until they are ready. Those of a container that was made
 * with other settings (`isOutdated`) are started, but not made. Several processes may do this at once. Rejects with
 * `CaiError` (`CONFIG`, `IMAGE`, `FOREIGN_CONTAINER`, `CONTAINER_START`).
 */
export async function provideServices(
  engine: Engine,
  info: ContainerInfo,
  isOutdated: boolean,
  request: ServicesRequest,
): Promise<void> {
  const names = servicesIn(info.labels);
  const wanted = isOutdated ? [] : (request.settings.services ?? []);
  const started = new Map<string, readonly [Service, ContainerInfo]>();
  const waitFor = async (name: string) => {
    const found = started.get(name);
    started.delete(name);
    if (found !== undefined) await waitUntilReady(engine, ...found);
  };
  for (const name of inOrder(names, wanted)) {
    const service = wanted.find((each) => each.name === name);
    for (const each of service?.after ?? []) await waitFor(each);
    const provision = new ServiceProvision(engine, info, name, service, request);
    const container = await provision.run();
    if (service !== undefined && container !== undefined) started.set(name, [service, container]);
  }
  for (const name of started.keys()) await waitFor(name);
}

/** Each behind those that it comes after; of a circle, one is the first. */
function inOrder(names: readonly string[], services: readonly Service[]): ReadonlySet<string> {
  const order = new Set<string>();
  const add = (name: string, path: readonly string[]) => {
    if (order.has(name) || path.includes(name) || !names.includes(name)) return;
    const { after = [] } = services.find((each) => each.name === name) ?? {};
    for (const each of after) add(each, [...path, name]);
    order.add(name);
  };
  for (const name of names) add(name, []);
  return order;
}

export const ownerOf = ({ id, name, labels }: ContainerInfo): Owner => ({
  id,
  name,
  services: servicesIn(labels),
});

/** Stops a container and the services beside it. */
export async function stopWithServices(engine: Engine, owner: Owner, seconds: number): Promise<void> {
  const services = eachService(engine, owner, (id) => engine.stopContainer(id, patienceSeconds));
  await Promise.all([services, engine.stopContainer(owner.id, seconds)]);
}

/** Removes a container, after the services beside it have ended in their own way. */
export async function removeWithServices(engine: Engine, owner: Owner): Promise<void> {
  await eachService(engine, owner, async (id) => {
    await engine.stopContainer(id, patienceSeconds);
    await engine.removeContainer(id);
  });
  await engine.removeContainer(owner.id);
}

async function eachService(engine: Engine, owner: Owner, work: (id: string) => Promise<void>): Promise<void> {
  const all = owner.services.map(async (service) => {
    const found = await engine.inspectContainer(serviceContainer(owner, service));
    if (found?.labels[label.serviceOf] === owner.id) await work(found.id);
  });
  await Promise.all(all);
}

/** Whether it has ended by itself, with success, as what fills a database does: it is wanted once in a start of its owner. */
function isDone({ isRunning, startedAt, exitCode }: ContainerInfo): boolean {
  return !isRunning && startedAt !== undefined && exitCode === 0;
}

class ServiceProvision {
  readonly #name: string;
  #hasStarted = false;

  constructor(
    private readonly engine: Engine,
    private readonly owner: ContainerInfo,
    private readonly serviceName: string,
    private readonly service: Service | undefined,
    private readonly request: ServicesRequest,
  ) {
    this.#name = serviceContainer(owner, serviceName);
  }

  /** The container of the service, running; `undefined`: there is none, and the configuration asks for no such service. */
  async run(): Promise<ContainerInfo | undefined> {
    const { engine, owner } = this;
    const patience = new Patience(this.#name);
    for (;;) {
      const found = await engine.inspectContainer(this.#name);
      patience.saw(found);
      if (found === undefined) {
        if (this.service === undefined) return undefined;
        if (!(await this.#make(this.service))) await patience.whileTaken();
      } else if (found.labels[label.service] === undefined) {
        throw new CaiError(
          'FOREIGN_CONTAINER',
          `the container ${this.#name} was not made by cai: rename or remove it: docker rm ${this.#name}`,
        );
      } else if (found.state === 'removing') await patience.whileRemoved();
      // Of a container of the agent that is gone.
      else if (found.state === 'dead' || found.labels[label.serviceOf] !== owner.id)
        await engine.removeContainer(found.id);
      else if ((found.isRunning || isDone(found)) && !this.#isOlder(found)) return found;
      else await this.#start(found);
    }
  }

  /** Whether it has the network of the owner as that was before its last start. */
  #isOlder({ startedAt = 0 }: ContainerInfo): boolean {
    return startedAt < (this.owner.startedAt ?? 0);
  }

  async #start(found: ContainerInfo): Promise<void> {
    const { engine, serviceName: name } = this;
    if (found.isRunning) await engine.stopContainer(found.id, patienceSeconds);
    else if (this.#hasStarted) throw await ended(engine, name, found);
    else if (found.startedAt !== undefined && !this.#isOlder(found))
      this.request.tell(
        `the service ${quoted(name)} had ended with status ${found.exitCode}, and is started again: see "cai logs --service ${name}"`,
      );
    try {
      await engine.startContainer(found.id, []);
    } catch (reason) {
      if (reason instanceof CaiError && reason.code !== 'CONTAINER_START') throw reason;
      const what = `the service ${quoted(name)} cannot be started: ${messageOf(reason)}`;
      throw new CaiError('CONTAINER_START', what, undefined, { cause: reason });
    }
    this.#hasStarted = true;
  }

  /** `false`: another process has made it. */
  async #make(service: Service): Promise<boolean> {
    const { engine, owner } = this;
    const { settings } = this.request;
    const image = await this.#image(service);
    const plan = servicePlan({ service, owner, settings }, image, await engine.about());
    if (service.volume !== undefined)
      await haveVolume(engine, serviceVolume(owner, service.name), serviceVolumeLabels(settings, service));
    return (await engine.createContainer(this.#name, plan, () => Promise.resolve())) !== undefined;
  }

  async #image({ name, image }: Service): Promise<ImageInfo> {
    const { images } = this.engine;
    const { progress, buildImage } = this.request;
    const found = (await images.find(image)) ?? (await buildImage(image));
    if (found !== undefined) return found;
    try {
      progress.begin(`pulling ${image} for the service ${name}`);
      await images.pull(image, (event) => progress.report(event));
    } finally {
      progress.end();
    }
    return await imageNow(images, image, 'pulled');
  }
}

/**
 * Waits until the health command ends with 0 and the service listens: databases that are made first answer such commands
 * already while that is done, and then start once more. One that has run for long was ready before.
 */
async function waitUntilReady(engine: Engine, service: Service, container: ContainerInfo): Promise<void> {
  const { health, name, image, ends } = service;
  const { id, startedAt = 0 } = container;
  const age = () => Date.now() - startedAt;
  if (age() > (health === undefined && !ends ? listenMs : readyMs)) return;
  const { ports = [] } = ends ? {} : ((await engine.images.find(image)) ?? {});
  if (health === undefined && !ends && ports.length === 0) return;
  const end = Date.now() + readyMs;
  for (;;) {
    const mayBeSilent = ports.length === 0 || age() > listenMs;
    if (!ends && (await isReady(engine, id, { health, ports: mayBeSilent ? [] : ports }, end))) return;
    const info = await engine.inspectContainer(id);
    if (info !== undefined && (ends || health === undefined) && isDone(info)) return;
    if (info?.isRunning === false) throw await ended(engine, name, info);
    if (info === undefined)
      throw new CaiError('CONTAINER_NOT_FOUND', `the service ${quoted(name)} was removed`);
    if (Date.now() > end) break;
    await sleep(tryMs);
  }
  const why = ends ? 'has not ended after' : 'is not ready after';
  const remedy = ends
    ? 'set "ends" of that service to false if it is to go on running'
    : 'its health command does not end with 0: correct "health" of that service';
  throw new CaiError(
    'CONTAINER_START',
    `the service ${quoted(name)} ${why} ${readyMs / 1_000} s: see "cai logs --service ${name}"; ${remedy}`,
  );
}

/** Whether the health command ends with 0 before `end`, and somebody listens at one of these ports, if there are any. */
async function isReady(
  engine: Engine,
  id: string,
  {
    health = ['true'],
    ports,
  }: { readonly health: readonly string[] | undefined; readonly ports: readonly number[] },
  end: number,
): Promise<boolean> {
  const script = `"$@" </dev/null >/dev/null 2>&1 || exit 1; ${ports.length === 0 ? 'echo ready' : saysIfOneListens(ports)}`;
  const stream = await engine.startIn?.(id, ['/bin/sh', '-c', script, 'cai', ...health]);
  if (stream === undefined) return false;
  try {
    const said = text(stream).catch(() => '');
    return (await within(Math.max(end - Date.now(), 0), said))?.trim() === 'ready';
  } finally {
    stream.destroy();
  }
}

/** Commands of a shell. Source: Linux, proc_net_tcp, where 0A is a socket that listens. */
function saysIfOneListens(ports: readonly number[]): string {
  const places = ports.map((port) => `*:${port.toString(16).toUpperCase().padStart(4, '0')}' 0A'`).join('|');
  const line = `case "$local $state" in ${places}) echo ready; exit;; esac`;
  return `for each in tcp tcp6; do while read -r _ local _ state _; do ${line}; done </proc/net/$each; done 2>/dev/null`;
}

async function ended(
  engine: Engine,
  name: string,
  { id, exitCode, isOomKilled }: ContainerInfo,
): Promise<CaiError> {
  const log = (await engine.logsTail(id, 5)).trim();
  const why = isOomKilled ? ', as it used more than its "memory"' : '';
  const what = `the service ${quoted(name)} ended with status ${exitCode} as soon as it was started${why}`;
  return new CaiError('CONTAINER_START', log === '' ? what : `${what}:\n${log}`);
}
