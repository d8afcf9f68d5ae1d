/** The container engine: Docker's, or podman's service of the same API. The only user of dockerode's methods. */
import { Readable, type Duplex } from 'node:stream';
import { json } from 'node:stream/consumers';
import type Docker from 'dockerode';
import { CaiError, type FailureCode } from '../../../errors';
import type { Host } from '../../../system/host';
import type { OpenPipes } from '../../../system/streams/pipe-streams';
import { isGoing, type ContainerInfo } from '../container-info';
import type { ContainerProcess } from '../container-processes';
import {
  hasAll,
  type ContainerPlan,
  type Engine,
  type InnerEntry,
  type InnerFiles,
  type Labels,
  type ListedContainer,
  type ListedVolume,
} from '../engine';
import type { ImageStore } from '../image-store';
import type { DiskUse, EngineAbout } from '../engine-info';
import {
  aboutOf,
  fileIn,
  labelsIn,
  processColumns,
  processesOf,
  textOfFrames,
  type Greeting,
} from './answers';
import { engineClient, greet } from './client';
import { endpointOf, keepFromEngine, type EngineAddress } from './context';
import { createBody } from './create-body';
import { diskUseOf } from './disk-use';
import { DockerImages } from './docker-images';
import { checkShared, explainMissing } from './elsewhere/shares';
import { engineError, isNameTaken, isNotRunning, isRemovalUnderWay, unless } from './engine-error';
import { ExecStream } from './exec-stream';
import { containerInfoOf } from './inspected';
import { tarOf } from './tar';
import { get, type Modem } from './watch';
import { pipesInto, wayInto } from './way-in';

export class DockerEngine implements Engine {
  readonly lookCommand = (name: string): string => `docker logs ${name}`;
  readonly images: ImageStore;
  readonly isElsewhere: boolean;
  #about: Promise<EngineAbout> | undefined;

  private constructor(
    private readonly docker: Docker,
    private readonly address: EngineAddress,
    private readonly greeting: Greeting,
    private readonly host: Pick<Host, 'env' | 'folders' | 'home'>,
    private readonly shares: readonly string[],
  ) {
    this.isElsewhere = address.isElsewhere === true;
    this.images = new DockerImages(docker, (...request) => this.#ask(...request), endpointOf(address));
  }

  /**
   * Finds out whether it is there, and which version of the API to speak. `shares`: what is the same on its machine, if
   * that is another one. Rejects with `NO_ENGINE`.
   */
  static async connect(
    address: EngineAddress,
    host: Pick<Host, 'env' | 'folders' | 'home'>,
    shares: readonly string[] = [],
  ): Promise<DockerEngine> {
    const docker = engineClient(address, host);
    const modem: Modem = docker.modem;
    const greeting = await greet(modem, address);
    modem.version = `v${greeting.apiVersion}`;
    return new DockerEngine(docker, address, greeting, host, shares);
  }

  async about(): Promise<EngineAbout> {
    const ask = async () => {
      const place = { state: this.host.folders.state, isElsewhere: this.isElsewhere };
      return aboutOf(await this.docker.info(), this.greeting, place, await this.#ofPodman('info'));
    };
    return await (this.#about ??= this.#ask('tell what the engine is', ask, 'NO_ENGINE'));
  }

  async checkBinds(binds: readonly { readonly source: string }[]): Promise<void> {
    if (this.isElsewhere) checkShared(this.address, this.shares, binds);
    await keepFromEngine(this.address, binds);
  }

  async listContainers(labels: Labels): Promise<readonly ListedContainer[]> {
    return await this.#ask('list the containers', async () => {
      const found = await this.docker.listContainers({ all: true, filters: filterOf(labels) });
      const listed = found.map(({ Id: id, Names, State: state, Labels, Created }) => {
        const name = (Names[0] ?? '').replace(/^\//, '');
        return { id, name, state, labels: labelsIn(Labels), createdAt: Created * 1000 };
      });
      return listed.filter(hasAll(labels));
    });
  }

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

  async createContainer(
    name: string,
    plan: ContainerPlan,
    fill: (inside: InnerFiles) => Promise<void>,
  ): Promise<string | undefined> {
    // Not apart they would both be sent twice, in the address, too.
    const parts = { _query: { name }, _body: createBody(plan) } as Docker.ContainerCreateOptions;
    const made = await this.#ask(`create the container ${name}`, () =>
      this.docker.createContainer(parts).catch(unless(isNameTaken)).catch(explainMissing(this.address)),
    );
    if (made === undefined) return undefined;
    try {
      await fill(this.#filesOf(made.id));
      return made.id;
    } catch (reason) {
      if (reason instanceof CaiError && reason.code === 'NOT_READY') throw reason;
      if (isGoing(await this.inspectContainer(made.id))) return undefined;
      // Half made it would be in everybody's way.
      await this.removeContainer(made.id).catch(() => undefined);
      throw reason;
    }
  }

  async startContainer(id: string, entries: readonly InnerEntry[]): Promise<void> {
    if (entries.length > 0) await this.#filesOf(id).put(entries);
    await this.#askContainer(id, 'start', (container) => container.start().catch(unless(304)));
  }

  async withVolume<T>(
    name: string,
    plan: ContainerPlan,
    work: (inside: InnerFiles) => Promise<T>,
  ): Promise<T> {
    const id = await this.createContainer(name, plan, () => Promise.resolve());
    if (id === undefined) throw new CaiError('CONTAINER_START', `the name ${name} is taken: try again`);
    try {
      // In a container that has never run, podman writes below a mount unless it is told to extract there.
      return await work(this.#filesOf(id, plan.mounts[0]?.target));
    } finally {
      await this.removeContainer(id);
    }
  }

  async connectTo(container: { readonly id: string; readonly pid: number }): Promise<Duplex> {
    const exec = (argv: readonly string[]) => this.startIn(container.id, argv);
    return await wayInto(exec, this.#pidHere(container), this.host.env);
  }

  async openPipes(container: { readonly pid: number }, name: string): Promise<OpenPipes | undefined> {
    return await pipesInto(name, this.#pidHere(container), this.host.env);
  }

  /** The ids of another machine's processes mean others here. */
  #pidHere({ pid }: { readonly pid: number }): number | undefined {
    return this.isElsewhere ? undefined : pid;
  }

  async stopContainer(id: string, seconds: number): Promise<void> {
    await this.#askContainer(id, 'stop', (container) =>
      container.stop({ t: seconds }).catch(unless(304, 404)),
    );
  }

  async removeContainer(id: string): Promise<void> {
    await this.#askContainer(id, 'remove', (container) =>
      container.remove({ force: true, v: true }).catch(unless(404, isRemovalUnderWay)),
    );
  }

  async startIn(id: string, argv: readonly string[]): Promise<Duplex | undefined> {
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

  async processes(id: string): Promise<readonly ContainerProcess[]> {
    // Docker's go to the ps of its machine, and it needs the ids. podman does that in the container, where
    // there may be no ps, unless it knows all columns itself.
    const columns = this.greeting.isPodman ? processColumns : `-eo ${processColumns}`;
    return await this.#askContainer(id, 'list the processes of', async (container) =>
      processesOf(await container.top({ ps_args: columns }).catch(unless(409))),
    );
  }

  async processCount(id: string): Promise<number | undefined> {
    const answer = await this.#askContainer(id, 'count the processes of', (container) =>
      container.stats({ stream: false, 'one-shot': true }).catch(unless(404, 409)),
    );
    // podman leaves the limit away.
    return (answer as { pids_stats?: { current?: number } } | undefined)?.pids_stats?.current;
  }

  async waitContainer(id: string): Promise<number> {
    return await this.#askContainer(id, 'wait for', async (container) => {
      const answer: unknown = await container.wait();
      return (answer as { StatusCode: number }).StatusCode;
    });
  }

  async logsTail(id: string, lines: number): Promise<string> {
    const options = { stdout: true, stderr: true, follow: false, tail: lines } as const;
    return await this.#askContainer(id, 'read the log of', async (container) =>
      textOfFrames(await container.logs(options)),
    );
  }

  async listVolumes(labels: Labels): Promise<readonly ListedVolume[]> {
    return await this.#ask('list the volumes', async () => {
      const { Volumes } = await this.docker.listVolumes({ filters: JSON.stringify(filterOf(labels)) });
      // null, not an empty list, if nothing matches.
      const found = (Volumes as typeof Volumes | null) ?? [];
      return found
        .map(({ Name: name, Labels }) => ({ name, labels: labelsIn(Labels) }))
        .filter(hasAll(labels));
    });
  }

  async createVolume(name: string, labels: Labels): Promise<void> {
    await this.#ask(`create the volume ${name}`, () =>
      this.docker.createVolume({ Name: name, Labels: { ...labels } }),
    );
  }

  async removeVolume(name: string): Promise<void> {
    await this.#ask(`remove the volume ${name}`, () =>
      this.docker.getVolume(name).remove().catch(unless(404)),
    );
  }

  async diskUse(): Promise<DiskUse> {
    return await this.#ask('tell what takes room', () => diskUseOf(this.docker));
  }

  /** `folder`: what is put in is all in there. */
  #filesOf(id: string, folder = '/'): InnerFiles {
    return {
      // podman follows a link.
      read: (path) =>
        this.#askContainer(id, `read ${path} in`, async (container) => {
          const tar = await container.getArchive({ path }).catch(unless(404));
          return tar && (await fileIn(Readable.from(tar)));
        }),
      put: async (entries) => {
        const tar = await tarOf(entries, folder);
        await this.#askContainer(id, 'put files into', (container) =>
          container.putArchive(tar, { path: folder }),
        );
      },
    };
  }

  /** What only podman's own API tells. */
  async #ofPodman(path: string): Promise<unknown> {
    return this.greeting.isPodman ? await json(await get(this.docker.modem, `/libpod/${path}`)) : undefined;
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

function filterOf(labels: Labels): { label: string[] } {
  return { label: Object.entries(labels).map(([name, value]) => `${name}=${value}`) };
}
