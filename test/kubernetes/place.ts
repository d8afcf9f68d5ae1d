/** A namespace for the tests of one file, and who works in it. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { noRights } from '../../src/container/engine/container-info';
import { configOf, type Config } from '../../src/config/config';
import type { ContainerPlan, Engine } from '../../src/container/engine/engine';
import { findCluster, type Cluster } from '../../src/container/engine/kubernetes/api/kubeconfig';
import { KubernetesEngine } from '../../src/container/engine/kubernetes/kubernetes-engine';
import { Registry } from '../../src/container/registry/registry';
import { Host } from '../../src/system/host';
import { patienceMs } from '../support/patience';
import { newFolder } from '../support/temp-folder';
import { kubectl, program } from './kubectl';

/** Of pods: it has perl, a shell and Node. */
const image = process.env.CAI_TEST_K8S_IMAGE ?? 'node:22-bookworm-slim';

/** A rule of a Role. Source: Kubernetes API, rbac/v1. */
export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

const registry = new Registry(new Host({ HOME: '/none' }), {});

/** The engine, as a configuration has it that says only this of it. */
export async function connect(
  cluster: Cluster,
  settings: Partial<Config['kubernetes']> = {},
): Promise<Engine> {
  const wanted = { ...configOf([]).kubernetes, ...settings };
  return await KubernetesEngine.connect(cluster, wanted, newFolder(), registry);
}

/** A namespace that is made for tests, and removed with all that is in it. */
export class Place {
  private constructor(readonly namespace: string) {}

  static async make(name: string): Promise<Place> {
    return await Place.named(`${name}-${process.pid}`);
  }

  /** One that nobody else makes. */
  static async named(namespace: string): Promise<Place> {
    const place = new Place(namespace);
    await kubectl(['create', 'namespace', place.namespace]);
    return await place.#ready();
  }

  /** The namespace of what is in this folder, which is for kustomize. */
  static async deploy(namespace: string, folder: string): Promise<Place> {
    await kubectl(['apply', '--kustomize', folder]);
    return await new Place(namespace).#ready();
  }

  async #ready(): Promise<this> {
    // No pod can be made before.
    await this.appears('serviceaccount', '{.metadata.name}', /^default$/);
    return this;
  }

  /** Does not wait until it is gone. */
  async remove(): Promise<void> {
    await kubectl(['delete', 'namespace', this.namespace, '--wait=false']);
  }

  /** As `kubectl`, in this namespace. */
  async kubectl(args: readonly string[], input = ''): Promise<string> {
    return await kubectl(['--namespace', this.namespace, ...args], input);
  }

  /** Makes objects. */
  async create(...objects: readonly object[]): Promise<void> {
    await this.kubectl(['create', '--filename', '-'], objects.map((each) => JSON.stringify(each)).join('\n'));
  }

  /** Waits until an object of this kind has a field like this, and tells it; throws after `patienceMs`. */
  async appears(kind: string, field: string, value: RegExp): Promise<string> {
    const output = [
      '--watch',
      `--request-timeout=${patienceMs / 1_000}s`,
      '--output',
      `jsonpath=${field}{"\\n"}`,
    ];
    const watch = spawn(program, ['get', kind, '--namespace', this.namespace, ...output], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      for await (const line of createInterface(watch.stdout)) if (value.test(line)) return line;
    } finally {
      watch.kill();
    }
    throw new Error(`no ${kind} with ${field} ${value}`);
  }

  /** The cluster as somebody sees it who may do everything. */
  get cluster(): Cluster {
    return findCluster(new Host(process.env), { namespace: this.namespace });
  }

  /** The cluster as a service account sees it, which has these rights in this namespace and no others. */
  async clusterFor(name: string, rules: readonly Rule[]): Promise<Cluster> {
    const metadata = { name };
    const group = 'rbac.authorization.k8s.io';
    await this.create(
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
      { apiVersion: `${group}/v1`, kind: 'Role', metadata, rules },
      {
        apiVersion: `${group}/v1`,
        kind: 'RoleBinding',
        metadata,
        roleRef: { apiGroup: group, kind: 'Role', name },
        subjects: [{ kind: 'ServiceAccount', name, namespace: this.namespace }],
      },
    );
    return await this.clusterOf(name);
  }

  /** The cluster as a service account sees it that is there. */
  async clusterOf(serviceAccount: string): Promise<Cluster> {
    const path = `/api/v1/namespaces/${this.namespace}/serviceaccounts/${serviceAccount}/token`;
    const asked = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
    const said = await kubectl(['create', '--raw', path, '--filename', '-'], JSON.stringify(asked));
    const { status } = JSON.parse(said) as { readonly status: { readonly token: string } };
    return { ...this.cluster, credentials: () => Promise.resolve({ token: status.token }) };
  }
}

/** What a container is to be that runs this program of Node. */
export function nodePlan(script: string, hasNetwork = false): ContainerPlan {
  return {
    image,
    user: '1234:1234',
    command: ['node', '--eval', script],
    workingFolder: '/',
    env: {},
    labels: { 'containai.managed': 'true', 'containai.user': '1234' },
    volumeLabels: {},
    mounts: [],
    rights: { ...noRights, hasNetwork, memoryBytes: 2 ** 28 },
    cpus: 0,
    extraHosts: [],
    isTemporary: false,
  };
}
