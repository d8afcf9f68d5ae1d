/*
 * Many workspaces at once, each with an agent in a container of its own, behind one `cai --acp`: on the engine of this
 * machine, on one node of a cluster, and on all of its nodes. Run only if asked for (`--only cluster --rounds 1`), as it
 * takes long; needs the cluster of test/kubernetes/machine.sh, and the engine that it takes images from.
 *
 * The crowd grows: all sessions that it lacks are asked for at once, while the agents of those before stream (300 B,
 * twice a second). Then those stream as well, and small prompts go to the first session, one after the other. The image
 * is in the registry or the engine before.
 *
 * Requests to the API server are counted in `cai`, where each begins (cluster/count-requests.cjs), and, with those of
 * everybody, by the server itself (`apiserver_request_total`). Memory of `cai` is its share of resident memory (Pss):
 * its processes run the same program. That of the cluster's processes is resident memory beyond what it was before.
 *
 * CAI_BENCH_SESSIONS says how large the crowd becomes, such as "1,10,25".
 */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ClusterPlace,
  MachinePlace,
  processOf,
  requestsServed,
  withoutCluster,
} from '../cluster/cluster-place.mjs';
import { Crowd, withAgent } from '../cluster/crowd.mjs';
import { residentMiB } from '../process-stats.mjs';
import { quantile } from '../statistics.cjs';

const sizes = { quick: [1, 10], full: [1, 10, 25, 50, 75, 100] };
const trips = 300;
/** How long nobody asks for anything, in milliseconds. */
const idleMs = 60_000;
const nodes = (process.env.CAI_TEST_K8S_NODES ?? '').split(' ');
const control = ['api-server', 'etcd'];

const places = {
  Docker: () => new MachinePlace(),
  'one node': () => new ClusterPlace(nodes[0]),
  'all nodes': () => new ClusterPlace(),
};

/** Not run unless it is asked for. */
export const isExtra = true;

/** Names of those that take part. */
export const names = Object.keys(places);

const asked = process.env.CAI_BENCH_SESSIONS?.split(',').map(Number);

/** Each with its unit and the contender that the others are compared with. */
export const metrics = {
  ...Object.assign({}, ...(asked ?? sizes.full).map(metricsOf)),
  'requests of cai, each prompt': { unit: '' },
  'requests of cai, each session in an idle minute': { unit: '' },
  'requests of cai, each end': { unit: '' },
  'requests in all, each session in an idle minute': { unit: '' },
};

function metricsOf(size) {
  const of = (metric) => `${size} sessions: ${metric}`;
  return {
    [of('start of those added')]: { unit: 's', to: 'Docker' },
    [of('session/new of those added, p50')]: { unit: 's', to: 'Docker' },
    [of('session/new of those added, p95')]: { unit: 's', to: 'Docker' },
    [of('round trip while all stream, p50')]: { unit: 'ms', to: 'Docker' },
    [of('round trip while all stream, p99')]: { unit: 'ms', to: 'Docker' },
    [of('memory of cai, the proxy')]: { unit: 'MiB' },
    [of('memory of cai, each session')]: { unit: 'MiB' },
    [of('memory of the control plane, more')]: { unit: 'MiB' },
    [of('memory of the nodes, more')]: { unit: 'MiB' },
    [of('requests of cai, each start')]: { unit: '' },
    [of('requests in all, each start')]: { unit: '' },
  };
}

/** Why it cannot be run here. */
export const unavailable = withoutCluster;

/** One round: figures by metric and contender. What one place has taken until it fails is kept. */
export async function round({ order, isFull, failed }) {
  const figures = Object.fromEntries(Object.keys(metrics).map((metric) => [metric, {}]));
  for (const name of order) {
    const place = places[name]();
    try {
      place.prepare();
      const tell = (metric, value) => (figures[metric][name] = value);
      await new Growth(name, place, tell).all(asked ?? (isFull ? sizes.full : sizes.quick));
    } catch ({ message }) {
      failed(`${name}: ${message}`);
    } finally {
      place.remove();
    }
  }
  return figures;
}

/** A crowd in one place. */
class Growth {
  #size = 0;
  #crowd;
  #before;

  constructor(name, place, tell) {
    this.name = name;
    this.place = place;
    this.isCluster = place instanceof ClusterPlace;
    this.tell = tell;
  }

  async all(wanted) {
    this.#before = this.#memory();
    this.#crowd = await Crowd.open(this.place);
    try {
      for (const size of wanted) await this.#to(size);
      if (this.isCluster) await this.#idle();
      await this.#crowd.end();
      this.#tellRequests('each end', this.#size);
    } finally {
      await this.#crowd.kill();
    }
  }

  async #to(size) {
    const tell = (metric, value) => this.tell(`${size} sessions: ${metric}`, value);
    const added = size - this.#size;
    const folders = Array.from({ length: added }, () => withAgent(this.place.workspace()));
    const served = this.#served();
    const opening = await this.#crowd.grow(folders);
    tell('start of those added', Math.max(...opening));
    tell('session/new of those added, p50', quantile(opening, 0.5));
    tell('session/new of those added, p95', quantile(opening, 0.95));
    this.#size = size;
    this.#tellRequests('each start', added, `${size} sessions: `);
    if (this.isCluster) tell('requests in all, each start', (this.#served() - served) / added);
    await this.#crowd.stream(added);
    const times = await this.#crowd.roundTrips(trips);
    tell('round trip while all stream, p50', quantile(times, 0.5));
    tell('round trip while all stream, p99', quantile(times, 0.99));
    this.#tellRequests('each prompt', trips);
    const { proxy, children } = this.#crowd.memory();
    tell('memory of cai, the proxy', proxy);
    tell('memory of cai, each session', children / size);
    if (!this.isCluster) return;
    const now = this.#memory();
    tell('memory of the control plane, more', now.control - this.#before.control);
    tell('memory of the nodes, more', now.nodes - this.#before.nodes);
  }

  async #idle() {
    const served = this.#served();
    await sleep(idleMs);
    this.#tellRequests('each session in an idle minute', this.#size);
    this.tell('requests in all, each session in an idle minute', (this.#served() - served) / this.#size);
  }

  #served() {
    return this.isCluster ? requestsServed() : 0;
  }

  #tellRequests(what, count, prefix = '') {
    const kinds = this.place.takeRequests();
    if (!this.isCluster) return;
    const all = Object.values(kinds).reduce((sum, each) => sum + each, 0);
    this.tell(`${prefix}requests of cai, ${what}`, all / count);
    const said = Object.entries(kinds).map(([kind, each]) => `${kind}: ${each}`);
    process.stderr.write(`${this.name}: ${what}, ${count} times: ${said.join(', ') || 'none'}\n`);
  }

  #memory() {
    const sum = (parts) => parts.reduce((total, part) => total + residentMiB(processOf(part)), 0);
    if (!this.isCluster) return undefined;
    return {
      control: sum(control),
      nodes: sum(nodes.flatMap((node) => [`kubelet-${node}`, `containerd-${node}`])),
    };
  }
}
