/*
 * The way into a container and back, beside Docker's own command line with the same agent, image and workspace.
 * Cold: there is no container yet. Warm: it runs, the agent does not. Needs an engine, found by DOCKER_HOST or as
 * `docker` finds it; the image `containai:bench` is built if it is missing.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '../client.mjs';
import { ContainerPlace, image, withoutEngine } from '../container-place.mjs';
import { cai, initialize, newSession } from '../contenders.mjs';
import { median, quantile, rotated } from '../statistics.cjs';
import { roundTrips } from './roundtrip.mjs';

const source = join(import.meta.dirname, '..');
/** In a round, of which the median counts. */
const warmStarts = 3;
const sessions = 20;
const trips = 500;

/** `cai` where it has to enter containers by the engine's API; in `cai`, by a socket. */
const byEngine = 'cai, by the engine';

/** In the development container of a repository, which was built before. */
const inDevcontainer = 'cai, development container';

/** Names of those that take part. */
export const names = ['docker', 'cai', byEngine, inDevcontainer];

/** Each with its unit and the contender that the others are compared with. */
export const metrics = {
  'session/new, cold container': { unit: 'ms', to: 'docker' },
  'session/new, warm container': { unit: 'ms', to: 'docker' },
  'session/new, agent runs': { unit: 'ms', to: 'round trip' },
  'round trip p50, container': { unit: 'µs', to: 'docker' },
  'round trip p99, container': { unit: 'µs', to: 'docker' },
  'command that does nothing, warm container': { unit: 'ms', to: 'docker' },
};

/** Why it cannot be run here. */
export const unavailable = withoutEngine;

/** One round: figures by metric and contender. */
export async function round({ order, round: number }) {
  const place = new AgentPlace();
  const dev = new AgentPlace();
  const placeOf = (name) => (name === inDevcontainer ? dev : place);
  try {
    dev.addDevcontainer();
    // The first start records what the agent answers to `initialize`, and builds.
    for (const each of [place, dev]) await (await each.editor()).stop();
    const sessionsOf = order.filter((name) => name !== byEngine);
    const cold = {};
    for (const name of sessionsOf) cold[name] = await placeOf(name).coldSession(name);
    for (const each of [place, dev]) await (await each.editor()).stop();
    const warm = { docker: [], cai: [], [inDevcontainer]: [] };
    const nothing = { docker: [], cai: [], [byEngine]: [] };
    for (let start = 0; start < warmStarts; start++) {
      for (const name of rotated(order, number + start)) {
        if (name in warm) warm[name].push(await placeOf(name).warmSession(name));
        if (name in nothing) nothing[name].push(place.nothing(name));
      }
    }
    return {
      'session/new, cold container': cold,
      'session/new, warm container': mapped(warm, median),
      'command that does nothing, warm container': mapped(nothing, median),
      ...(await place.running(sessionsOf.filter((name) => name !== inDevcontainer))),
    };
  } finally {
    for (const each of [place, dev]) each.remove();
  }
}

const mapped = (byName, change) =>
  Object.fromEntries(Object.entries(byName).map(([name, value]) => [name, change(value)]));

/** A workspace with the agent in it. */
class AgentPlace extends ContainerPlace {
  constructor() {
    super();
    for (const name of ['agent.mjs', 'messages.mjs']) copyFileSync(join(source, name), join(this.root, name));
    this.agent = ['node', join(this.root, 'agent.mjs')];
    this.configure(this.agent);
  }

  addDevcontainer() {
    const folder = join(this.root, '.devcontainer');
    mkdirSync(folder);
    writeFileSync(join(folder, 'devcontainer.json'), '{ "image": "node:22-bookworm-slim" }');
    this.cai(['trust', '--yes', this.root]);
  }

  /** `cai --acp` with a session in the workspace. It is started where nothing is started for the folder. */
  async editor() {
    const client = new Client('cai', [...cai, '--acp', 'bench'], { cwd: this.home, env: this.env });
    await initialize(client);
    client.sessionId = await newSession(client, this.root);
    return client;
  }

  /** The agent as `docker` runs it, with a session in it. */
  async docker(...command) {
    const client = new Client('docker', ['docker', ...command, ...this.agent], {
      cwd: this.root,
      env: this.env,
    });
    await initialize(client);
    client.sessionId = await newSession(client, this.root);
    return client;
  }

  get container() {
    return JSON.parse(this.cai(['ps', '--json'])).find(({ workspace }) => workspace === this.root).name;
  }

  get inContainer() {
    return ['exec', '--interactive', '--workdir', this.root, this.container];
  }

  /** In milliseconds; no container is left of it. */
  async coldSession(name) {
    this.cai(['rm', '--workspace', this.root, '--force']);
    const mount = `${this.root}:${this.root}`;
    return await this.#timed(name, [
      'run',
      '--rm',
      '--interactive',
      '--volume',
      mount,
      '--workdir',
      this.root,
      image,
    ]);
  }

  /** In milliseconds. */
  async warmSession(name) {
    return await this.#timed(name, this.inContainer);
  }

  /** Of `docker` from its start, since it is what starts the agent; of `cai`, which runs already, from the request. */
  async #timed(name, command) {
    const startedAt = performance.now();
    if (name === 'docker') {
      const client = await this.docker(...command);
      const tookMs = client.reachedAt - startedAt;
      await client.stop();
      return tookMs;
    }
    const client = new Client('cai', [...cai, '--acp', 'bench'], { cwd: this.home, env: this.env });
    await initialize(client);
    const askedAt = performance.now();
    await newSession(client, this.root);
    const tookMs = client.reachedAt - askedAt;
    await client.stop();
    return tookMs;
  }

  /** What a command costs that does nothing, in milliseconds. */
  nothing(name) {
    const container = this.container;
    const startedAt = performance.now();
    if (name === 'docker') execFileSync('docker', ['exec', container, 'true'], { env: this.env });
    else this.cai(this.inside('true'), name === byEngine ? { CAI_WAY_IN: 'exec' } : {});
    return performance.now() - startedAt;
  }

  /** What is measured with an agent that runs. */
  async running(order) {
    const open = { cai: () => this.editor(), docker: () => this.docker(...this.inContainer) };
    const figures = { 'session/new, agent runs': {} };
    const p50 = (figures['round trip p50, container'] = {});
    const p99 = (figures['round trip p99, container'] = {});
    for (const name of order) {
      const client = await open[name]();
      try {
        await roundTrips({ client, sessionId: client.sessionId }, trips / 5);
        const times = await roundTrips({ client, sessionId: client.sessionId }, trips);
        p50[name] = quantile(times, 0.5);
        p99[name] = quantile(times, 0.99);
        if (name !== 'cai') continue;
        figures['session/new, agent runs'] = {
          'round trip': p50.cai / 1_000,
          cai: await this.#anotherSession(client),
        };
      } finally {
        await client.stop();
      }
    }
    return figures;
  }

  /** In milliseconds. */
  async #anotherSession(client) {
    const times = [];
    for (let session = 0; session < sessions; session++) {
      const askedAt = performance.now();
      await newSession(client, this.root);
      times.push(client.reachedAt - askedAt);
    }
    return median(times);
  }
}
