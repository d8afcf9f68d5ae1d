/** The container engine: Docker's, or podman's service of the same API. The only user of dockerode's methods. */
import { Readable, type Duplex } from 'node:stream';
import { json } from 'node:stream/consumers';
import type Docker from 'dockerode';
import { CaiError, messageOf, type FailureCode } from '../../errors';
import { followBuild, type BuildEvent } from './build-stream';
import { containerInfoOf, type ContainerInfo } from './container-info';
import { countSupervisors, processColumns, processesOf, type ContainerProcess } from './container-processes';
import type { EngineAddress } from './context';
import { engineClient, greet } from './client';
import { engineError, isNameTaken, isNotRunning, isRemovalUnderWay, statusOf } from './engine-error';
import { ExecStream } from './exec-stream';
import {
  aboutOf,
  fileIn,
  imageInfoOf,
  textOfFrames,
  type EngineAbout,
  type ImageInfo,
  type InnerFile,
} from './engine-info';
import { get, type Modem } from './watch';

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

  /** What the engine is and can do; the engine is asked once. */
  async about(): Promise<EngineAbout> {
    const ask = async () => aboutOf(await this.docker.info(), this.greeting, await this.#ofPodman('info'));
    return await (this.#about ??= this.#ask('tell what the engine is', ask, 'NO_ENGINE'));
  }

  /** The containers with all these labels, running or not, newest first. `createdAt`: in milliseconds since 1970. */
  async listContainers(labels: Labels) {
    const found = await this.#ask('list the containers', () =>
      this.docker.listContainers({ all: true, filters: filterOf(labels) }),
    );
    return found.map(({ Id: id, Names, State: state, Labels, Created }) => {
      const name = (Names[0] ?? '').replace(/^\//, '');
      return { id, name, state, labels: labelsIn(Labels), createdAt: Created * 1000 };
    });
  }

  /** `undefined`: there is no such container, or it is just being made. */
  async inspectContainer(idOrName: string): Promise<ContainerInfo | undefined> {
    const look = async (container: Docker.Container) => {
      const answer = await container.inspect();
      if (!this.greeting.isPodman) return containerInfoOf(answer);
      const own = (await this.#ofPodman(`containers/${answer.Id}/json`)) as {
        BoundingCaps?: string[] | null;
      };
      return containerInfoOf(answer, own.BoundingCaps ?? []);
    };
    return await this.#askContainer(idOrName, 'look at', (container) => look(container).catch(unless(404)));
  }

  /** What only podman's own API tells. */
  async #ofPodman(path: string): Promise<unknown> {
    return this.greeting.isPodman ? await json(await get(this.docker.modem, `/libpod/${path}`)) : undefined;
  }

  /**
   * Resolves with the id of the new container; with `undefined` if somebody else has a container of that name, or is
   * making one. `request` is the body of ContainerCreate. Rejects with `CONTAINER_START`.
   */
  async createContainer(name: string, request: object): Promise<string | undefined> {
    // Not apart they would both be sent twice, in the address, too.
    const parts = { _query: { name }, _body: request } as Docker.ContainerCreateOptions;
    const made = await this.#ask(`create the container ${name}`, () =>
      this.docker.createContainer(parts).catch(unless(isNameTaken)),
    );
    return made?.id;
  }

  /** Extracts a tar archive in a folder of a container, whether or not it runs, with the owners in it. */
  async putFiles(id: string, tar: Buffer, path = '/'): Promise<void> {
    await this.#askContainer(id, 'put files into', (container) => container.putArchive(tar, { path }));
  }

  /** `undefined`: there is no such file, or it is not an ordinary one, or a huge one; podman follows a link. */
  async readFile(id: string, path: string): Promise<InnerFile | undefined> {
    return await this.#askContainer(id, `read ${path} in`, async (container) => {
      const tar = await container.getArchive({ path }).catch(unless(404));
      return tar && (await fileIn(Readable.from(tar)));
    });
  }

  /**
   * Starts a program in a container as its user: a stream of its stdin and stdout. `undefined`: the container is paused,
   * does not run, or is gone.
   */
  async exec(id: string, argv: readonly string[]): Promise<Duplex | undefined> {
    const attached = { AttachStdin: true, AttachStdout: true, AttachStderr: true };
    // What is inside can close its working folder.
    const request = { Cmd: [...argv], WorkingDir: '/', ...attached };
    return await this.#askContainer(id, 'enter', async (container) => {
      const made = await container.exec(request).catch(unless(404, 409, isNotRunning));
      const connection = await made
        ?.start({ hijack: true, stdin: true })
        .catch(unless(404, 409, isNotRunning));
      return connection && new ExecStream(connection);
    });
  }

  /** Does nothing to a container that runs. */
  async startContainer(id: string): Promise<void> {
    await this.#askContainer(id, 'start', (container) => container.start().catch(unless(304)));
  }

  /** Pauses all processes of a container, or lets them go on. Rejects with `CONTAINER_START`, also if that is so already. */
  async setPaused(id: string, isPaused: boolean): Promise<void> {
    const verb = isPaused ? 'pause' : 'unpause';
    await this.#askContainer(id, verb, (container) => container[verb]());
  }

  /** Asks the first process to end, and kills it after `seconds`. Does nothing to a container that does not run. */
  async stopContainer(id: string, seconds: number): Promise<void> {
    await this.#askContainer(id, 'stop', (container) =>
      container.stop({ t: seconds }).catch(unless(304, 404)),
    );
  }

  /** Kills what runs in it; its volumes without a name go with it. Fine, too, if there is none or somebody else removes it. */
  async removeContainer(id: string): Promise<void> {
    await this.#askContainer(id, 'remove', (container) =>
      container.remove({ force: true, v: true }).catch(unless(404, isRemovalUnderWay)),
    );
  }

  /** All processes in a container; none if it does not run. */
  async processes(id: string): Promise<ContainerProcess[]> {
    // Docker's go to the ps of its machine, and it needs the ids. podman does that in the container, where
    // there may be no ps, unless it knows all columns itself.
    const columns = this.greeting.isPodman ? processColumns : `-eo ${processColumns}`;
    const answer: unknown = await this.#askContainer(id, 'list the processes of', (container) =>
      container.top({ ps_args: columns }).catch(unless(409)),
    );
    return processesOf(answer);
  }

  /** How many commands of `cai` run in a container. */
  async countCommands(id: string): Promise<number> {
    return countSupervisors(await this.processes(id));
  }

  /** How many processes and threads it has; `undefined`: not known, or it does not run. */
  async processCount(id: string): Promise<number | undefined> {
    const answer = await this.#askContainer(id, 'count the processes of', (container) =>
      container.stats({ stream: false, 'one-shot': true }).catch(unless(404, 409)),
    );
    // podman leaves the limit away.
    return (answer as { pids_stats?: { current?: number } } | undefined)?.pids_stats?.current;
  }

  /** Resolves with the exit status of a container when it has ended. */
  async waitContainer(id: string): Promise<number> {
    const answer: unknown = await this.#askContainer(id, 'wait for', (container) => container.wait());
    return (answer as { StatusCode: number }).StatusCode;
  }

  /** What the first process of a container printed last, at most so many lines. */
  async logsTail(id: string, lines: number): Promise<string> {
    const options = { stdout: true, stderr: true, follow: false, tail: lines } as const;
    return textOfFrames(
      await this.#askContainer(id, 'read the log of', (container) => container.logs(options)),
    );
  }

  /** `undefined`: there is no such image. */
  async inspectImage(ref: string): Promise<ImageInfo | undefined> {
    const look = () => this.docker.getImage(ref).inspect().catch(unless(404));
    const answer = await this.#ask(`look at the image ${ref}`, look, 'IMAGE');
    return answer && imageInfoOf(answer);
  }

  /** Does nothing if there is no such image. Rejects with `IMAGE` for one in use. */
  async removeImage(ref: string): Promise<void> {
    const remove = () => this.docker.getImage(ref).remove().catch(unless(404));
    await this.#ask(`remove the image ${ref}`, remove, 'IMAGE');
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
    const withReason = (reason: unknown) => {
      if (!files.signal.aborted) throw reason;
      const why = `its files cannot be read: ${messageOf(files.signal.reason)}`;
      throw new CaiError('IMAGE', `cannot ${what}: ${why}`, undefined, { cause: reason });
    };
    const send = async () => followBuild(await this.docker.buildImage(context, all), what, onEvent);
    await this.#ask(what, () => send().catch(withReason), 'IMAGE');
  }

  /** Fetches an image from its registry; rejects with `IMAGE`. */
  async pull(ref: string, onEvent: (event: BuildEvent) => void): Promise<void> {
    const what = `pull the image ${ref}`;
    await this.#ask(what, async () => followBuild(await this.docker.pull(ref), what, onEvent), 'IMAGE');
  }

  /** The volumes with all these labels. */
  async listVolumes(labels: Labels) {
    const { Volumes } = await this.#ask('list the volumes', () =>
      this.docker.listVolumes({ filters: JSON.stringify(filterOf(labels)) }),
    );
    // null, not an empty list, where there is none.
    const found = (Volumes as typeof Volumes | null) ?? [];
    return found.map(({ Name: name, Labels }) => ({ name, labels: labelsIn(Labels) }));
  }

  /** Does nothing to a volume that exists. */
  async createVolume(name: string, labels: Labels): Promise<void> {
    await this.#ask(`create the volume ${name}`, () =>
      this.docker.createVolume({ Name: name, Labels: { ...labels } }),
    );
  }

  /** Does nothing if there is no such volume. Rejects with `CONTAINER_START` for one in use. */
  async removeVolume(name: string): Promise<void> {
    await this.#ask(`remove the volume ${name}`, () =>
      this.docker.getVolume(name).remove().catch(unless(404)),
    );
  }

  /** `verb` is what is done with the container. */
  #askContainer<T>(
    id: string,
    verb: string,
    request: (container: Docker.Container) => Promise<T>,
  ): Promise<T> {
    return this.#ask(`${verb} the container ${id}`, () => request(this.docker.getContainer(id)));
  }

  async #ask<T>(what: string, request: () => Promise<T>, code: FailureCode = 'CONTAINER_START'): Promise<T> {
    try {
      return await request();
    } catch (reason) {
      throw engineError(reason, { address: this.address, what, code });
    }
  }
}

/** For failures that are fine: by status, or by what else the engine says. Others stay failures. */
function unless(...fine: (number | ((reason: unknown) => boolean))[]): (reason: unknown) => undefined {
  return (reason) => {
    const status = statusOf(reason);
    if (!fine.some((each) => (typeof each === 'number' ? each === status : each(reason)))) throw reason;
  };
}

function labelsIn(labels: Labels | null | undefined): Labels {
  return labels ?? {};
}

function filterOf(labels: Labels): { label: string[] } {
  return { label: Object.entries(labels).map(([name, value]) => `${name}=${value}`) };
}
