/** Kubernetes as an engine: each container is a bare pod in one namespace. */
import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { CaiError, type FailureCode } from '../../../errors';
import { engineProfile, type ContainerInfo } from '../container-info';
import type { ContainerProcess } from '../container-processes';
import type { EngineAbout, InnerFile } from '../engine-info';
import {
  NotYet,
  type Allowances,
  type ContainerPlan,
  type Engine,
  type ImageStore,
  type InnerEntry,
  type InnerFiles,
  type Labels,
  type ListedContainer,
  type ListedVolume,
} from '../engine';
import { KubernetesApi, withQuery } from './api/api';
import { ForwardFailure, kubernetesError, refusalOf, unless } from './api/api-error';
import type { Cluster } from './api/kubeconfig';
import { KubernetesImages } from './kubernetes-images';
import { NetworkPolicies } from './network-policy';
import type { Pod } from './pod';
import { doorPort, podBody, selectable } from './pod-body';
import { containerInfoOf, idOf, partsOf } from './pod-info';
import { allowancesOf } from './rights';
import { PodStart } from './pod-start';
import { processesIn } from './pod-processes';

/** How long a pod may take to end that nobody waits for, in seconds. */
const removalSeconds = 1;

/** Where the image has none of these, and nobody can look before the pod runs. */
const baseFiles: Readonly<Record<string, string>> = {
  '/etc/passwd':
    'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n',
  '/etc/group': 'root:x:0:\nnogroup:x:65534:\n',
};

/** A cluster that has answered. */
export class KubernetesEngine implements Engine {
  /** As of `Engine`. */
  readonly images: ImageStore = new KubernetesImages();
  /** As of `Engine`. */
  readonly allowances: Allowances;
  readonly #api: KubernetesApi;
  readonly #policies: NetworkPolicies;

  private constructor(
    private readonly cluster: Cluster,
    private readonly version: string,
    api: KubernetesApi,
  ) {
    this.#api = api;
    this.#policies = new NetworkPolicies(api);
    this.allowances = allowancesOf(api);
  }

  /** Finds out whether it is there. Rejects with `NO_ENGINE`. */
  static async connect(cluster: Cluster): Promise<KubernetesEngine> {
    const api = new KubernetesApi(cluster);
    try {
      const { gitVersion } = (await api.get('/version')) as { readonly gitVersion: string };
      return new KubernetesEngine(cluster, gitVersion, api);
    } catch (reason) {
      throw kubernetesError(reason, { cluster, what: 'tell its version', code: 'NO_ENGINE' });
    }
  }

  /** As of `Engine`. */
  about(): Promise<EngineAbout> {
    return Promise.resolve({
      name: `Kubernetes ${this.version.replace(/^v/, '')}, namespace ${this.cluster.namespace}`,
      can: { memory: true, pids: false, cpus: true, systemCalls: false, pause: false },
      isRootless: false,
      // Of one node, nobody knows which: the usual limit holds.
      memoryBytes: Number.MAX_SAFE_INTEGER,
      cpus: Number.MAX_SAFE_INTEGER,
      osType: 'linux',
      sharesKernel: false,
      seccomp: engineProfile,
      seccompNotice:
        'Kubernetes filters system calls by its own profile, with which agents can make files with the setuid bit',
    });
  }

  /** As of `Engine`. */
  checkBinds(): Promise<void> {
    return Promise.resolve();
  }

  /** As of `Engine`. */
  async listContainers(labels: Labels): Promise<readonly ListedContainer[]> {
    const { items } = await this.#ask('list the pods', () => this.#api.list(this.#selected('pods', labels)));
    return (items as readonly Pod[])
      .map((pod) => ({ pod, info: containerInfoOf(pod) }))
      .filter(({ info }) => Object.entries(labels).every(([key, value]) => info.labels[key] === value))
      .map(({ pod, info: { id, name, state, labels: all } }) => {
        return { id, name, state, labels: all, createdAt: Date.parse(pod.metadata.creationTimestamp ?? '') };
      })
      .sort((one, other) => other.createdAt - one.createdAt);
  }

  /** As of `Engine`. */
  async inspectContainer(idOrName: string): Promise<ContainerInfo | undefined> {
    const pod = await this.#ask(`look at the pod ${idOrName}`, () => this.#pod(idOrName));
    return pod && containerInfoOf(pod);
  }

  /** As of `Engine`. The pod begins at once: nothing can be put in later. */
  async createContainer(
    name: string,
    plan: ContainerPlan,
    fill: (inside: InnerFiles) => Promise<void>,
  ): Promise<string | undefined> {
    const entries: InnerEntry[] = [];
    await fill({
      read: (path) => Promise.resolve(innerFile(baseFiles[path])),
      put: (more) => Promise.resolve(void entries.push(...more)),
    });
    const secretName = `${name}-${randomBytes(4).toString('hex')}`;
    const { pod, secret } = podBody(name, secretName, plan, entries);
    return await this.#ask(`make the pod ${name}`, async () => {
      await this.#policies.keep(pod.metadata.labels);
      await this.#api.create(this.#path('secrets'), secret);
      const made = await this.#createPod(pod).catch(async (reason: unknown) => {
        await this.#removeSecret(secretName);
        throw reason;
      });
      if (made === undefined) {
        await this.#removeSecret(secretName);
        return undefined;
      }
      const { uid } = made.metadata;
      const owner = { apiVersion: 'v1', kind: 'Pod', name, uid };
      // It goes with the pod.
      await this.#api.patch(this.#path('secrets', secretName), { metadata: { ownerReferences: [owner] } });
      return idOf(made);
    });
  }

  /** As of `Engine`: waits until it runs. */
  async startContainer(id: string): Promise<void> {
    const { name, uid } = partsOf(id);
    await this.#ask(`start the pod ${name}`, async () => {
      const start = new PodStart(name, uid);
      await this.#follow(name, (pod) => start.look(pod));
    });
  }

  /** As of `Engine`. */
  withVolume(): Promise<never> {
    return Promise.reject(
      new CaiError('CONTAINER_START', 'Kubernetes shows the files of a volume to running pods alone'),
    );
  }

  /** As of `Engine`: by the API server and the node, to the pod's own loopback address. */
  async connectTo({ id }: { readonly id: string }): Promise<Duplex> {
    const { name } = partsOf(id);
    try {
      return await this.#api.forward(name, doorPort);
    } catch (reason) {
      if (reason instanceof ForwardFailure && reason.isRefused) throw new NotYet(reason.message);
      throw kubernetesError(reason, {
        cluster: this.cluster,
        what: `enter the pod ${name}`,
        code: 'SSH_CONNECT',
      });
    }
  }

  /** As of `Engine`. */
  setPaused(id: string): Promise<void> {
    return Promise.reject(new CaiError('CONTAINER_START', `cannot pause ${id}: Kubernetes cannot do that`));
  }

  /** As of `Engine`: a pod that has ended is none. */
  async stopContainer(id: string, seconds: number): Promise<void> {
    await this.#end(id, seconds);
  }

  /** As of `Engine`. */
  async removeContainer(id: string): Promise<void> {
    await this.#end(id, removalSeconds);
  }

  /** As of `Engine`. */
  async processes(id: string): Promise<readonly ContainerProcess[]> {
    const { name } = partsOf(id);
    const info = await this.inspectContainer(id);
    if (info?.isRunning !== true) return [];
    return await this.#ask(`list the processes of the pod ${name}`, () => processesIn(this.#api, name));
  }

  /** As of `Engine`: nobody tells. */
  processCount(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  /** As of `Engine`. */
  async waitContainer(id: string): Promise<number> {
    const { name, uid } = partsOf(id);
    return await this.#ask(`wait for the pod ${name}`, () =>
      this.#follow(name, (pod) => {
        if (pod === undefined || (uid !== undefined && pod.metadata.uid !== uid))
          throw new CaiError('CONTAINER_NOT_FOUND', `the pod ${name} was removed`);
        const info = containerInfoOf(pod);
        return info.state === 'exited' ? info.exitCode : undefined;
      }),
    );
  }

  /** As of `Engine`. */
  async logsTail(id: string, lines: number): Promise<string> {
    const { name } = partsOf(id);
    const path = withQuery(`${this.#path('pods', name)}/log`, { tailLines: String(lines) });
    return await this.#ask(`read the log of the pod ${name}`, () => this.#api.text(path));
  }

  /** As of `Engine`. */
  async listVolumes(labels: Labels): Promise<readonly ListedVolume[]> {
    const path = this.#selected('persistentvolumeclaims', labels);
    const { items } = await this.#ask('list the volumes', () => this.#api.list(path));
    return (items as readonly Pod[])
      .map(({ metadata: { name, annotations = {} } }) => ({ name, labels: annotations }))
      .filter((each) => Object.entries(labels).every(([key, value]) => each.labels[key] === value));
  }

  /** As of `Engine`. */
  async createVolume(name: string, labels: Labels): Promise<void> {
    const body = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name, labels: selectableOf(labels), annotations: labels },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '10Gi' } } },
    };
    await this.#ask(`create the volume ${name}`, () =>
      this.#api.create(this.#path('persistentvolumeclaims'), body).catch(unless(409)),
    );
  }

  /** As of `Engine`. */
  async removeVolume(name: string): Promise<void> {
    await this.#ask(`remove the volume ${name}`, () =>
      this.#api.remove(this.#path('persistentvolumeclaims', name)).catch(unless(404)),
    );
  }

  #path(kind: string, name?: string): string {
    const all = `/api/v1/namespaces/${encodeURIComponent(this.cluster.namespace)}/${kind}`;
    return name === undefined ? all : `${all}/${encodeURIComponent(name)}`;
  }

  #selected(kind: string, labels: Labels): string {
    const wanted = Object.entries(selectableOf(labels)).map(([key, value]) => `${key}=${value}`);
    return withQuery(this.#path(kind), wanted.length === 0 ? {} : { labelSelector: wanted.join() });
  }

  async #pod(idOrName: string): Promise<Pod | undefined> {
    const { name, uid } = partsOf(idOrName);
    const pod = (await this.#api.get(this.#path('pods', name)).catch(unless(404))) as Pod | undefined;
    return uid === undefined || pod?.metadata.uid === uid ? pod : undefined;
  }

  /** `undefined`: somebody has one of that name that has not ended. */
  async #createPod(body: object): Promise<Pod | undefined> {
    try {
      return (await this.#api.create(this.#path('pods'), body)) as Pod;
    } catch (reason) {
      if (refusalOf(reason) !== 409) throw reason;
      return undefined;
    }
  }

  async #removeSecret(name: string): Promise<void> {
    await this.#api.remove(this.#path('secrets', name)).catch(unless(404));
  }

  async #end(id: string, seconds: number): Promise<void> {
    const { name, uid } = partsOf(id);
    const options = { gracePeriodSeconds: seconds, ...(uid !== undefined && { uid }) };
    await this.#ask(`end the pod ${name}`, async () => {
      await this.#api.remove(this.#path('pods', name), options).catch(unless(404, 409));
      await this.#follow(name, (pod) => (pod === undefined || pod.metadata.uid !== uid ? true : undefined));
    });
  }

  /** Looks at a pod whenever it changes, until `look` tells something; `undefined`: it is not there. */
  async #follow<T>(name: string, look: (pod: Pod | undefined) => T | undefined): Promise<T> {
    const path = withQuery(this.#path('pods'), { fieldSelector: `metadata.name=${name}` });
    const done = new AbortController();
    let found: T | undefined;
    await this.#api.watch(
      path,
      (event) => {
        const pod =
          event.type === 'LISTED' ? event.objects[0] : event.type === 'DELETED' ? undefined : event.object;
        found = look(pod as Pod | undefined);
        if (found !== undefined) done.abort();
      },
      done.signal,
    );
    return found!;
  }

  async #ask<T>(what: string, request: () => Promise<T>, code: FailureCode = 'CONTAINER_START'): Promise<T> {
    try {
      return await request();
    } catch (reason) {
      throw kubernetesError(reason, { cluster: this.cluster, what, code });
    }
  }
}

function selectableOf(labels: Labels): Labels {
  return Object.fromEntries(
    selectable.flatMap((key) => (labels[key] === undefined ? [] : [[key, labels[key]]])),
  );
}

function innerFile(text: string | undefined): InnerFile | undefined {
  return text === undefined ? undefined : { content: Buffer.from(text), mode: 0o644, uid: 0, gid: 0 };
}
