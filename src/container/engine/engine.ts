/** The container engine: Docker's, or podman's service of the same API. The only user of dockerode's methods. */
import type { Readable } from 'node:stream';
import { buffer, json } from 'node:stream/consumers';
import type Docker from 'dockerode';
import { CaiError, messageOf } from '../../errors';
import type { FailureCode } from '../../errors';
import { followBuild } from './build-stream';
import type { BuildEvent } from './build-stream';
import { containerInfoOf } from './container-info';
import type { ContainerInfo } from './container-info';
import { countSupervisors, processColumns, processesOf } from './container-processes';
import type { ContainerProcess } from './container-processes';
import type { EngineAddress } from './context';
import { engineClient, greet } from './client';
import { engineError, isNameTaken, isRemovalUnderWay, statusOf } from './engine-error';
import { aboutOf, fileIn, imageInfoOf, textOfFrames } from './engine-info';
import type { EngineAbout, ImageInfo } from './engine-info';
import { get } from './watch';
import type { Modem } from './watch';

/** Labels that all have to be there. */
type Labels = Readonly<Record<string, string>>;

/**
 * An engine that has answered. Every method rejects with `CaiError`: `NO_ENGINE` if it cannot be reached any
 * more, `NOT_READY` if it does not answer (`watchRequests`), `CONTAINER_NOT_FOUND` or `IMAGE` for what is not there, else
 * as each of them says.
 */
export class Engine {
  #about: Promise<EngineAbout> | undefined;

  private constructor(
    private readonly docker: Docker,
    private readonly address: EngineAddress,
    private readonly greeting: Pick<EngineAbout, 'apiVersion' | 'isPodman'>,
  ) {}

  /** Finds out whether it is there, and which version of the API to speak. Rejects with `NO_ENGINE`. */
  static async connect(address: EngineAddress): Promise<Engine> {
    const docker = engineClient(address);
    const modem: Modem = docker.modem;
    const greeting = await greet(modem, address);
    modem.version = `v${greeting.apiVersion}`;
    return new Engine(docker, address, greeting);
  }

  /** Asked for once. */
  async about(): Promise<EngineAbout> {
    return await (this.#about ??= this.#ask('tell what the engine is', 'NO_ENGINE', async () =>
      aboutOf(await this.docker.info(), this.greeting, await this.#ofPodman('info')),
    ));
  }

  /** Those with the labels, newest first, also those that do not run. `createdAt` is in milliseconds since 1970. */
  async listContainers(labels: Labels) {
    const found = await this.#ask('list the containers', 'CONTAINER_START', () =>
      this.docker.listContainers({ all: true, filters: filterOf(labels) }),
    );
    return found.map(({ Id: id, Names, State: state, Labels, Created }) => {
      const name = (Names[0] ?? '').replace(/^\//, '');
      return { id, name, state, labels: labelsIn(Labels), createdAt: Created * 1000 };
    });
  }

  /** `undefined`: there is none, or it is just being made. */
  async inspectContainer(idOrName: string): Promise<ContainerInfo | undefined> {
    return await this.#askContainer(idOrName, 'look at', [404], async (container) => {
      const answer = await container.inspect();
      if (!this.greeting.isPodman) return containerInfoOf(answer);
      const own = (await this.#ofPodman(`containers/${answer.Id}/json`)) as {
        BoundingCaps?: string[] | null;
      };
      return containerInfoOf(answer, own.BoundingCaps ?? []);
    });
  }

  /** What only podman's own API tells. */
  readonly #ofPodman = async (path: string): Promise<unknown> =>
    this.greeting.isPodman ? await json(await get(this.docker.modem, `/libpod/${path}`)) : undefined;

  /**
   * Its id; `undefined`: somebody else has a container of that name, or is making one. `request` is the body of
   * ContainerCreate. Rejects with `CONTAINER_START`.
   */
  async createContainer(name: string, request: object): Promise<string | undefined> {
    return await this.#askUnless(isNameTaken, `create the container ${name}`, 'CONTAINER_START', async () => {
      // Not apart they would both be sent twice, in the address, too.
      const parts = { _query: { name }, _body: request } as Docker.ContainerCreateOptions;
      return (await this.docker.createContainer(parts)).id;
    });
  }

  /** Extracts a tar archive at the root of a container, whether or not it runs, with the owners in it. */
  async putFiles(id: string, tar: Buffer): Promise<void> {
    await this.#askContainer(id, 'put files into', [], (container) =>
      container.putArchive(tar, { path: '/' }),
    );
  }

  /** `undefined`: there is no such file, or it is not an ordinary one; podman follows a link. */
  async readFile(id: string, path: string): Promise<Buffer | undefined> {
    return await this.#askContainer(id, `read ${path} in`, [404], async (container) =>
      fileIn(await buffer(await container.getArchive({ path }))),
    );
  }

  /** One that runs stays as it is. */
  async startContainer(id: string): Promise<void> {
    await this.#askContainer(id, 'start', [304], (container) => container.start());
  }

  /** Has all its processes stand still, or go on. Rejects with `CONTAINER_START`, also if they do already. */
  async setPaused(id: string, isPaused: boolean): Promise<void> {
    if (isPaused) await this.#askContainer(id, 'pause', [], (container) => container.pause());
    else await this.#askContainer(id, 'unpause', [], (container) => container.unpause());
  }

  /** Asks the first process to end, and ends it after `seconds`. One that is not there or does not run is fine. */
  async stopContainer(id: string, seconds: number): Promise<void> {
    await this.#askContainer(id, 'stop', [304, 404], (container) => container.stop({ t: seconds }));
  }

  /** With its volumes that have no name. One that is not there is fine, and one that somebody else removes. */
  async removeContainer(id: string, { force }: { force: boolean }): Promise<void> {
    const isGone = (reason: unknown) => statusOf(reason) === 404 || isRemovalUnderWay(reason);
    await this.#askUnless(isGone, `remove the container ${id}`, 'CONTAINER_START', () =>
      this.docker.getContainer(id).remove({ force, v: true }),
    );
  }

  /** All processes in a container; none if it does not run. */
  async processes(id: string): Promise<ContainerProcess[]> {
    // Docker's go to the ps of its machine, and it needs the ids. podman does that in the container, where
    // there may be no ps, unless it knows all columns itself.
    const columns = this.greeting.isPodman ? processColumns : `-eo ${processColumns}`;
    const answer: unknown = await this.#askContainer(id, 'list the processes of', [409], (container) =>
      container.top({ ps_args: columns }),
    );
    return processesOf(answer);
  }

  /** How many commands of `cai` run in a container. */
  async countCommands(id: string): Promise<number> {
    return countSupervisors(await this.processes(id));
  }

  /** How many processes and threads it has; `undefined`: not known, or it does not run. */
  async processCount(id: string): Promise<number | undefined> {
    const answer = await this.#askContainer(id, 'count the processes of', [404, 409], (container) =>
      container.stats({ stream: false, 'one-shot': true }),
    );
    // podman leaves the limit away.
    return (answer as { pids_stats?: { current?: number } } | undefined)?.pids_stats?.current;
  }

  /** Its exit status, as soon as it does not run. */
  async waitContainer(id: string): Promise<number> {
    const answer: unknown = await this.#askContainer(id, 'wait for', [], (container) => container.wait());
    return (answer as { StatusCode: number }).StatusCode;
  }

  /** The last lines that its first process printed, at most so many of them. */
  async logsTail(id: string, lines: number): Promise<string> {
    const options = { stdout: true, stderr: true, follow: false, tail: lines } as const;
    const frames = await this.#askContainer(id, 'read the log of', [], (container) =>
      container.logs(options),
    );
    return textOfFrames(frames!);
  }

  /** `undefined`: there is none. */
  async inspectImage(ref: string): Promise<ImageInfo | undefined> {
    return await this.#askUnless(isMissing, `look at the image ${ref}`, 'IMAGE', async () =>
      imageInfoOf(await this.docker.getImage(ref).inspect()),
    );
  }

  /** One that is not there is fine; rejects with `IMAGE` for one in use. */
  async removeImage(ref: string): Promise<void> {
    await this.#askUnless(isMissing, `remove the image ${ref}`, 'IMAGE', () =>
      this.docker.getImage(ref).remove(),
    );
  }

  /**
   * Builds an image with the classic builder, which needs nothing but the engine. `context` is a tar stream.
   * Rejects with `IMAGE` and the last lines that were printed.
   */
  async build(
    context: Readable,
    options: Docker.ImageBuildOptions & { readonly t: string },
    onEvent: (event: BuildEvent) => void,
  ): Promise<void> {
    const what = `build the image ${options.t}`;
    // Without its files, of which dockerode may miss the failure, the engine would wait for ever.
    const files = new AbortController();
    context.once('error', (reason) => files.abort(reason));
    // What a failed step leaves behind is of no use.
    const all = { version: '1', rm: true, forcerm: true, ...options, abortSignal: files.signal } as const;
    await this.#ask(what, 'IMAGE', async () => {
      try {
        await followBuild(bytesOf(await this.docker.buildImage(context, all)), what, onEvent);
      } catch (reason) {
        if (!files.signal.aborted) throw reason;
        const why = messageOf(files.signal.reason);
        throw new CaiError('IMAGE', `cannot ${what}: its files cannot be read: ${why}`, undefined, {
          cause: reason,
        });
      }
    });
  }

  /** Fetches an image from its registry; rejects with `IMAGE`. */
  async pull(ref: string, onEvent: (event: BuildEvent) => void): Promise<void> {
    const what = `pull the image ${ref}`;
    await this.#ask(what, 'IMAGE', async () =>
      followBuild(bytesOf(await this.docker.pull(ref)), what, onEvent),
    );
  }

  /** Those with the labels. */
  async listVolumes(labels: Labels) {
    const { Volumes } = await this.#ask('list the volumes', 'CONTAINER_START', () =>
      this.docker.listVolumes({ filters: JSON.stringify(filterOf(labels)) }),
    );
    // null, not an empty list, where there is none.
    const found = (Volumes as typeof Volumes | null) ?? [];
    return found.map(({ Name: name, Labels }) => ({ name, labels: labelsIn(Labels) }));
  }

  /** One that is there stays as it is. */
  async createVolume(name: string, labels: Labels): Promise<void> {
    await this.#ask(`create the volume ${name}`, 'CONTAINER_START', () =>
      this.docker.createVolume({ Name: name, Labels: { ...labels } }),
    );
  }

  /** One that is not there is fine; rejects with `CONTAINER_START` for one in use. */
  async removeVolume(name: string): Promise<void> {
    await this.#askUnless(isMissing, `remove the volume ${name}`, 'CONTAINER_START', () =>
      this.docker.getVolume(name).remove(),
    );
  }

  /** As `#askUnless`; `verb` is what is done with the container, and an answer with one of the `statuses` is fine. */
  async #askContainer<T>(
    id: string,
    verb: string,
    statuses: readonly number[],
    request: (container: Docker.Container) => Promise<T>,
  ): Promise<T | undefined> {
    const isFine = (reason: unknown) => statuses.includes(statusOf(reason) ?? 0);
    return await this.#askUnless(isFine, `${verb} the container ${id}`, 'CONTAINER_START', () =>
      request(this.docker.getContainer(id)),
    );
  }

  /** As `#ask`; `undefined` if it fails in a way that is fine. */
  async #askUnless<T>(
    isFine: (reason: unknown) => boolean,
    what: string,
    code: FailureCode,
    request: () => Promise<T>,
  ): Promise<T | undefined> {
    return await this.#ask(what, code, () =>
      request().catch((reason: unknown) => {
        if (isFine(reason)) return undefined;
        throw reason;
      }),
    );
  }

  async #ask<T>(what: string, code: FailureCode, request: () => Promise<T>): Promise<T> {
    try {
      return await request();
    } catch (reason) {
      throw engineError(reason, { address: this.address, what, code });
    }
  }
}

function isMissing(reason: unknown): boolean {
  return statusOf(reason) === 404;
}

function labelsIn(labels: Labels | null | undefined): Labels {
  return labels ?? {};
}

function filterOf(labels: Labels): { label: string[] } {
  return { label: Object.entries(labels).map(([name, value]) => `${name}=${value}`) };
}

/** Streams of HTTP are in bytes unless somebody asks for text. */
function bytesOf(answer: NodeJS.ReadableStream): AsyncIterable<Buffer> {
  return answer as AsyncIterable<Buffer>;
}
