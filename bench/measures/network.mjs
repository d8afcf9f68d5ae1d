/*
 * HTTPS from a container to a server on this machine: through the proxy that `cai exec` serves, and beside it on the
 * engine's bridge, by the same client in a container of the same image. Needs an engine, as the containers do, and
 * `openssl`, which makes the server's certificate.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync } from 'node:fs';
import { isIPv4 } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ContainerPlace, withoutEngine } from '../container-place.mjs';
import { builds, cai, contenders } from '../contenders.mjs';
import { cpuUs, mostMiB, residentMiB } from '../process-stats.mjs';
import { rotated } from '../statistics.cjs';

const source = join(import.meta.dirname, '../network');

/** Names of those that take part; the ways of `cai exec` to the network. */
export const names = ['bridge', ...builds];

/** What the client is told to do, by metric. */
const jobs = {
  'HTTPS, first request': 'request',
  'HTTPS, further connection': 'requests',
  'HTTPS, 200 MB': 'download',
  'HTTPS, 50 connections': 'files',
};

/** Each with its unit and the contender that the others are compared with. */
export const metrics = {
  'HTTPS, first request': { unit: 'ms', to: 'bridge' },
  'HTTPS, further connection': { unit: 'ms', to: 'bridge' },
  'HTTPS, 200 MB': { unit: 'MB/s', to: 'bridge' },
  'HTTPS, 50 connections': { unit: 'files/s', to: 'bridge' },
  'processor time of cai exec, 200 MB': { unit: 'ms' },
  'memory of cai exec, idle': { unit: 'MiB' },
  'memory of cai exec, most': { unit: 'MiB' },
};

/** Why it cannot be run here. */
export function unavailable() {
  return (
    withoutEngine() ?? (spawnSync('openssl', ['version']).status === 0 ? undefined : 'openssl cannot be run')
  );
}

/** One round: figures by metric and contender. */
export async function round({ place, order, round: number }) {
  const figures = Object.fromEntries(Object.keys(metrics).map((metric) => [metric, {}]));
  const server = await startServer(place.folder);
  const running = {};
  try {
    for (const name of order) running[name] = await Way.open(name, server);
    for (const name of order) figures['memory of cai exec, idle'][name] = residentMiB(running[name].pid);
    for (const [index, [metric, job]] of Object.entries(jobs).entries()) {
      for (const name of rotated(order, number + index)) {
        const { pid } = running[name];
        const before = cpuUs(pid);
        figures[metric][name] = await running[name].does(job);
        if (job === 'download')
          figures['processor time of cai exec, 200 MB'][name] = (cpuUs(pid) - before) / 1_000;
      }
    }
    for (const name of order) figures['memory of cai exec, most'][name] = mostMiB(running[name].pid);
    return figures;
  } finally {
    for (const way of Object.values(running)) way.close();
    server.child.kill();
  }
}

/** Where containers reach this machine. */
function gateway() {
  const format = '{{range .IPAM.Config}}{{println .Gateway}}{{end}}';
  const text = execFileSync('docker', ['network', 'inspect', 'bridge', '--format', format], {
    encoding: 'utf8',
  });
  return text.split('\n').find((each) => isIPv4(each));
}

/** A server of our own, with a new certificate; its `address` and `port` with it. */
async function startServer(ours) {
  const [key, certificate] = [join(ours, 'key.pem'), join(ours, 'certificate.pem')];
  const ofKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', key];
  execFileSync('openssl', ['req', '-x509', ...ofKey, '-out', certificate, '-subj', '/CN=bench'], {
    stdio: 'ignore',
  });
  const address = gateway();
  const command = [join(source, 'server.mjs'), address, key, certificate];
  const child = spawn(process.execPath, command, { stdio: ['pipe', 'pipe', 'inherit'] });
  const [port] = await once(createInterface({ input: child.stdout }), 'line');
  return { child, address, port };
}

/** A client that runs in a container, by one `cai exec`. */
class Way {
  #place = new ContainerPlace();
  #child;
  #lines;

  /** Resolves when the client runs. */
  static async open(name, { address, port }) {
    const way = new Way();
    const place = way.#place;
    const rules = { bridge: 'egress = "open"' }[name] ?? `allow = ["${address}:${port}"]`;
    place.configure(['true'], [rules]);
    copyFileSync(join(source, 'client.mjs'), join(place.root, 'client.mjs'));
    const command = place.inside('node', '--no-warnings', join(place.root, 'client.mjs'), address, port);
    const [program, ...args] = name === 'before' ? contenders.before() : cai;
    way.#child = spawn(program, [args[0], ...command], {
      env: place.env,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    way.#lines = createInterface({ input: way.#child.stdout })[Symbol.asyncIterator]();
    await way.#line('start');
    return way;
  }

  /** Of `cai exec`. */
  get pid() {
    return this.#child.pid;
  }

  /** Resolves with the figure of a job. */
  async does(job) {
    this.#child.stdin.write(`${job}\n`);
    return Number(await this.#line(job));
  }

  async #line(job) {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error(`the client ended in "${job}"`);
    return value;
  }

  close() {
    this.#child.kill('SIGKILL');
    this.#place.remove();
  }
}
