/* Where crowds are: on the engine of this machine, or in the cluster for tests. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ContainerPlace, withoutEngine } from '../container-place.mjs';

/** An agent of the benchmark needs no more memory; a start may have to wait for all others. */
const limits = ['[container]', 'memory = "128MiB"', '[acp]', 'start_timeout = "15m"'];

const kubectl = (args) => execFileSync('kubectl', args, { encoding: 'utf8', maxBuffer: 2 ** 26 });

/** Why there can be no crowds here. A cluster that is not for tests is left alone, because a crowd may take all of it. */
export function withoutCluster() {
  const steps = 'as root, run: test/kubernetes/machine.sh start && eval "$(test/kubernetes/machine.sh env)"';
  if (process.env.CAI_TEST_K8S !== '1') return `CAI_TEST_K8S names no cluster for tests; ${steps}`;
  const { status } = spawnSync('kubectl', ['get', '--raw', '/readyz', '--request-timeout=5s']);
  return status === 0 ? withoutEngine() : `no cluster answers; ${steps}`;
}

/** The engine of this machine. */
export class MachinePlace extends ContainerPlace {
  constructor() {
    super();
    this.env.CAI_BENCH_REQUESTS = join(this.folder, 'requests');
  }

  /** Writes the configuration, with these further tables, and provides the image. */
  prepare(tables = []) {
    this.configure(['node', 'agent.mjs'], [], [...limits, ...tables]);
    this.env.NODE_OPTIONS = `--require ${join(import.meta.dirname, 'count-requests.cjs')}`;
  }

  /** Requests of all `cai` here to an API since this was last asked: how many of each kind, such as `GET pods`. */
  takeRequests() {
    const file = this.env.CAI_BENCH_REQUESTS;
    const lines = readFileSync(file, { encoding: 'utf8', flag: 'a+' }).split('\n').filter(Boolean);
    writeFileSync(file, '');
    const kinds = {};
    for (const line of lines) kinds[kindOf(line)] = (kinds[kindOf(line)] ?? 0) + 1;
    return kinds;
  }
}

/** Of a path of the API, only the resource is told. */
function kindOf(line) {
  const [method, target] = line.split(' ');
  const [path, query = ''] = target.split('?');
  const found = /\/namespaces\/[^/]+\/([^/]+)(?:\/[^/]+(\/[^/]+)?)?$/.exec(path);
  const resource = found === null ? path : `${found[1]}${found[2] ?? ''}`;
  return `${query.includes('watch=true') ? 'WATCH' : method} ${resource}`;
}

/** A namespace of the cluster, whose nodes have the folders of this machine. */
export class ClusterPlace extends MachinePlace {
  #node;
  #namespace;

  /** With `node`, all pods go there. */
  constructor(node) {
    super();
    this.#node = node;
    this.#namespace = `cai-bench-${process.pid}-${node ?? 'all'}`;
    this.env.KUBECONFIG = process.env.KUBECONFIG;
  }

  prepare() {
    const namespace = this.#namespace;
    kubectl(['create', 'namespace', namespace]);
    // A pod needs the account, which the cluster makes a moment later; then it is told that there is one.
    spawnSync('kubectl', ['create', 'serviceaccount', 'default', '--namespace', namespace]);
    super.prepare([
      '[image]',
      `registry = "${process.env.CAI_TEST_REGISTRY}/bench"`,
      '[engine]',
      'kind = "kubernetes"',
      `namespace = "${namespace}"`,
      '[kubernetes]',
      'storage = "64MiB"',
      // A node of two processors would take 20 pods otherwise.
      'requests = ["cpu=10m"]',
      `node_selector = [${this.#node === undefined ? '' : `"kubernetes.io/hostname=${this.#node}"`}]`,
      '[[kubernetes.volumes]]',
      'folder = "/tmp"',
      'from = "node:/tmp"',
    ]);
  }

  provideImage() {
    this.cai(['build', '--push', '--agent', 'bench']);
  }

  remove() {
    kubectl(['delete', 'namespace', '--ignore-not-found', this.#namespace]);
    super.remove();
  }
}

/** How many requests the API server has had, from everybody. */
export function requestsServed() {
  const lines = kubectl(['get', '--raw', '/metrics']).split('\n');
  return lines
    .filter((line) => line.startsWith('apiserver_request_total{'))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

/** Process id of a part of the cluster. */
export function processOf(name) {
  return Number(readFileSync(join(process.env.CAI_TEST_K8S_STATE, 'run', `${name}.pid`), 'utf8'));
}
