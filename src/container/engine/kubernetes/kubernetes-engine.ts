/** Kubernetes as an engine: each container is a bare pod in one namespace. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { Config } from '../../../config/config';
import { CaiError } from '../../../errors';
import type { Registry } from '../../registry/registry';
import { engineProfile, type ContainerInfo } from '../container-info';
import type { ContainerProcess } from '../container-processes';
import type { EngineAbout } from '../engine-info';
import {
  hasAll,
  NotYet,
  type Allowances,
  type ContainerPlan,
  type Engine,
  type InnerEntry,
  type InnerFiles,
  type Labels,
  type ListedContainer,
  type ListedVolume,
} from '../engine';
import type { ImageStore } from '../image-store';
import { KubernetesApi } from './api/api';
import { ForwardFailure, kubectl, kubernetesError } from './api/api-error';
import type { Cluster } from './api/kubeconfig';
import { Claims } from './claims';
import { withImageFiles, type Look } from './image-files';
import { KubernetesImages } from './kubernetes-images';
import { Namespace } from './namespace';
import { NetworkPolicies } from './network-policy';
import { objectName } from './pod/object-name';
import { doorPort, podBody } from './pod/pod-body';
import { containerInfoOf, endOf, partsOf } from './pod/pod-info';
import { filesOf, processesIn } from './pod/pod-inside';
import { allowancesOf } from './rights';
import { PodStart, startMs } from './pod/pod-start';
import { Pods } from './pods';
import { sharedPlace } from './pod/shared-folders';

/** How long the programs of a pod that is removed may take to end by themselves, in seconds. */
const removalSeconds = 1;
/** How long a pod may be looked into, in seconds, its start included. */
const lookSeconds = startMs / 1_000 + 600;

export class KubernetesEngine implements Engine {
  readonly images: ImageStore;
  readonly allowances: Allowances;
  onWait: ((why: string | undefined) => void) | undefined;
  readonly #namespace: Namespace;
  readonly #pods: Pods;
  readonly #claims: Claims;
  readonly #policies: NetworkPolicies;

  private constructor(
    private readonly api: KubernetesApi,
    private readonly version: string,
    private readonly wanted: Config['kubernetes'],
    private readonly imageFolder: string,
    registry: Registry,
  ) {
    this.images = new KubernetesImages(registry);
    this.#namespace = new Namespace(api);
    this.#policies = new NetworkPolicies(this.#namespace);
    this.#pods = new Pods(this.#namespace, wanted.injected);
    this.#claims = new Claims(this.#namespace, wanted);
    this.allowances = allowancesOf(this.#namespace);
  }

  /** Finds out whether it is there. `state`: folder of our own; `registry` tells of images. Rejects with `NO_ENGINE`. */
  static async connect(
    cluster: Cluster,
    wanted: Config['kubernetes'],
    state: string,
    registry: Registry,
  ): Promise<KubernetesEngine> {
    const api = new KubernetesApi(cluster);
    try {
      const { gitVersion } = (await api.get('/version')) as { readonly gitVersion: string };
      return new KubernetesEngine(api, gitVersion, wanted, join(state, 'images'), registry);
    } catch (reason) {
      throw kubernetesError(reason, { cluster, what: 'tell its version', code: 'NO_ENGINE' });
    }
  }

  about(): Promise<EngineAbout> {
    return Promise.resolve({
      name: `Kubernetes ${this.version.replace(/^v/, '')}, namespace ${this.api.cluster.namespace}`,
      can: {
        memory: true,
        pids: false,
        cpus: true,
        systemCalls: true,
        restart: false,
        build: false,
      },
      isRootless: false,
      // Of one node, nobody knows which: the usual limit holds.
      memoryBytes: Number.MAX_SAFE_INTEGER,
      cpus: Number.MAX_SAFE_INTEGER,
      osType: 'linux',
      sharesKernel: false,
      startMs: startMs + (this.wanted.scheduleTimeoutMs ?? 0),
      // The keeper sets ours.
      seccomp: engineProfile,
      seccompNotice: undefined,
    });
  }

  checkBinds(binds: readonly { readonly source: string }[]): Promise<void> {
    for (const { source } of binds) sharedPlace(source, this.wanted.volumes);
    return Promise.resolve();
  }

  async listContainers(labels: Labels): Promise<readonly ListedContainer[]> {
    const listed = await this.#ask('list the pods', async () =>
      (await this.#pods.list(labels)).map((pod) => ({ pod, info: containerInfoOf(pod, this.wanted) })),
    );
    return listed
      .map(({ pod, info: { id, name, state, labels: all } }) => {
        return { id, name, state, labels: all, createdAt: Date.parse(pod.metadata.creationTimestamp ?? '') };
      })
      .filter(hasAll(labels))
      .sort((one, other) => other.createdAt - one.createdAt);
  }

  async inspectContainer(idOrName: string): Promise<ContainerInfo | undefined> {
    return await this.#ask(`look at the pod ${idOrName}`, async () => {
      const pod = await this.#pods.find(idOrName);
      return pod && containerInfoOf(pod, this.wanted);
    });
  }

  /** The pod begins at once: nothing can be put in later. */
  async createContainer(
    name: string,
    plan: ContainerPlan,
    fill: (inside: InnerFiles) => Promise<void>,
  ): Promise<string | undefined> {
    const entries: InnerEntry[] = [];
    const look = () => this.#look(`cai-look-${randomBytes(8).toString('hex')}`, { ...plan, mounts: [] });
    await withImageFiles(plan.image, { folder: this.imageFolder, look }, (read) =>
      fill({ read, put: (more) => Promise.resolve(void entries.push(...more)) }),
    );
    return await this.#make(name, plan, entries);
  }

  async #make(
    name: string,
    plan: ContainerPlan,
    entries: readonly InnerEntry[],
    limitSeconds?: number,
  ): Promise<string | undefined> {
    const image = await this.images.find(plan.image);
    if (image === undefined) throw new CaiError('IMAGE', `there is no image ${plan.image}`);
    const secretName = `${objectName(name)}-${randomBytes(4).toString('hex')}`;
    const { wanted } = this;
    const body = podBody({ name, secretName, imageEnv: image.env, plan, entries, wanted, limitSeconds });
    return await this.#ask(`make the pod ${name}`, async () => {
      await this.#policies.keep(body.pod.metadata.labels);
      const id = await this.#pods.make(body);
      // Ended pods that are not removed now are removed by the next start.
      if (id !== undefined) await this.#pods.removeEnded(plan.labels).catch(() => undefined);
      return id;
    });
  }

  /** Waits until it runs. It has got its files when it was made. */
  async startContainer(id: string): Promise<void> {
    const { name } = partsOf(id);
    const { scheduleTimeoutMs: scheduleMs } = this.wanted;
    const start = new PodStart(id, this.#pods, { scheduleMs, onWait: (why) => this.onWait?.(why) });
    await this.#ask(`start the container ${name}`, () =>
      start.within((signal) => this.#pods.follow(id, (pod) => start.look(pod), signal)),
    );
  }

  async withVolume<T>(
    name: string,
    plan: ContainerPlan,
    work: (inside: InnerFiles) => Promise<T>,
  ): Promise<T> {
    const { inside, end } = await this.#look(name, plan);
    try {
      return await work(inside);
    } finally {
      await end();
    }
  }

  /** By the API server and the node, to the pod's own loopback address. */
  async connectTo({ id }: { readonly id: string }): Promise<Duplex> {
    const { name } = partsOf(id);
    try {
      return await this.api.forward(objectName(name), doorPort);
    } catch (reason) {
      if (reason instanceof ForwardFailure && reason.isPassing) throw new NotYet(reason.message);
      const { cluster } = this.api;
      throw kubernetesError(reason, { cluster, what: `enter the pod ${name}`, code: 'SSH_CONNECT' });
    }
  }

  lookCommand(name: string): string {
    return kubectl(this.api.cluster, `describe pod ${objectName(name)}`);
  }

  async stopContainer(id: string, seconds: number): Promise<void> {
    await this.#ask(`end the container ${partsOf(id).name}`, () => this.#pods.end(id, seconds));
  }

  async removeContainer(id: string): Promise<void> {
    await this.stopContainer(id, removalSeconds);
  }

  async processes(id: string): Promise<readonly ContainerProcess[]> {
    const info = await this.inspectContainer(id);
    if (info === undefined) throw new CaiError('CONTAINER_NOT_FOUND', `there is no container ${id}`);
    if (!info.isRunning) return [];
    return await this.#ask(`list the processes of ${info.name}`, () =>
      processesIn(this.api, objectName(info.name)),
    );
  }

  processCount(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async waitContainer(id: string): Promise<number> {
    return await this.#ask(`wait for the container ${partsOf(id).name}`, () =>
      this.#pods.follow(id, (pod) => {
        if (pod === undefined)
          throw new CaiError('CONTAINER_NOT_FOUND', `the container ${partsOf(id).name} was removed`);
        return endOf(pod)?.exitCode;
      }),
    );
  }

  async logsTail(id: string, lines: number): Promise<string> {
    return await this.#ask(`read the log of ${partsOf(id).name}`, () => this.#pods.log(id, lines));
  }

  listVolumes(labels: Labels): Promise<readonly ListedVolume[]> {
    return this.#claims.list(labels);
  }

  createVolume(name: string, labels: Labels): Promise<void> {
    return this.#claims.create(name, labels);
  }

  removeVolume(name: string): Promise<void> {
    return this.#claims.remove(name);
  }

  /** A pod that does nothing, with the mounts of that plan. */
  async #look(name: string, plan: ContainerPlan): Promise<Look> {
    const command = ['/bin/sh', '-c', 'trap exit TERM; sleep infinity & wait'];
    const id = await this.#make(name, { ...plan, command }, [], lookSeconds);
    if (id === undefined) throw new CaiError('CONTAINER_START', `there is a pod ${name} already`);
    // Nothing is lost with what runs in it, so that nobody waits for its end.
    const end = async () => await this.#ask(`remove the pod ${name}`, () => this.#pods.remove(id, 0));
    try {
      await this.startContainer(id);
    } catch (reason) {
      await end();
      throw reason;
    }
    const { read, put } = filesOf(this.api, objectName(name));
    const what = `look into the pod ${name}`;
    const inside: InnerFiles = {
      read: (path) => this.#ask(what, () => read(path)),
      put: (entries) => this.#ask(what, () => put(entries)),
    };
    return { inside, end };
  }

  #ask<T>(what: string, request: () => Promise<T>): Promise<T> {
    return this.#namespace.ask(what, request);
  }
}
