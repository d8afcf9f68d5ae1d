/*
 * Many clients of one `cai serve`, each with a session in which its agent says something all the time, beside as many
 * clients that have started `cai --acp` themselves: round trips in one of them, and how much all of them get.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { benchAgent, cai, initialize, newSession, Place } from '../contenders.mjs';
import { orderLine, promptLine } from '../messages.mjs';
import { cpuUs, residentMiB } from '../process-stats.mjs';
import { SocketClient } from '../socket-client.mjs';
import { quantile } from '../statistics.cjs';

const shapes = {
  quick: { connections: 20, trips: 200, updates: 20_000, everyMs: 50 },
  full: { connections: 200, trips: 200, updates: 200_000, everyMs: 500 },
};
const bytes = 300;
/** What an agent says until it is ended. Agents that stream together say 400 updates in a second. */
const flood = { bytes, isBatched: true, forMs: 600_000 };
const warmUpTrips = 50;
/** How many are started at once. */
const atOnce = 8;

/** Names of those that take part; `slow`: by WebSocket, while one client of a flood reads nothing. */
export const names = ['stdio', 'WebSocket', 'slow'];

/** Each with its unit and the contender that the others are compared with. */
export const metrics = {
  'served: round trip, others quiet, p50': { unit: 'µs', to: 'stdio' },
  'served: round trip, others quiet, p99': { unit: 'µs', to: 'stdio' },
  'served: round trip, others stream, p50': { unit: 'µs', to: 'stdio' },
  'served: round trip, others stream, p99': { unit: 'µs', to: 'stdio' },
  'served: round trip, one reads nothing, p50': { unit: 'µs', to: 'WebSocket' },
  'served: round trip, one reads nothing, p99': { unit: 'µs', to: 'WebSocket' },
  'served: updates of 300 B in batches, all': { unit: 'messages/s', to: 'stdio' },
  'served: time of the server for each of these': { unit: 'µs' },
  'served: memory of the server, none connected': { unit: 'MiB' },
  'served: memory of the server, each connection more': { unit: 'KiB' },
};

/** One round: figures by metric and contender. */
export async function round({ order, isFull }) {
  const shape = isFull ? shapes.full : shapes.quick;
  const figures = Object.fromEntries(Object.keys(metrics).map((metric) => [metric, {}]));
  for (const name of order.filter((each) => each !== 'slow')) {
    const crowd = await Crowd.start(name, shape.connections);
    try {
      await measure(
        crowd,
        name,
        shape,
        (metric, value, of = name) => (figures[`served: ${metric}`][of] = value),
      );
    } finally {
      await crowd.end();
    }
  }
  return figures;
}

async function measure(crowd, name, { trips, updates, everyMs }, tell) {
  const server = crowd.pid;
  if (server !== undefined) {
    tell('memory of the server, none connected', crowd.emptyMiB);
    const grown = residentMiB(server) - crowd.firstMiB;
    tell('memory of the server, each connection more', (grown / (crowd.seats.length - 1)) * 1024);
  }
  const tellTrips = async (metric, of) => {
    const times = await roundTrips(crowd, trips);
    tell(`${metric}, p50`, quantile(times, 0.5), of);
    tell(`${metric}, p99`, quantile(times, 0.99), of);
  };
  await tellTrips('round trip, others quiet');
  const count = Math.ceil(updates / crowd.seats.length);
  const allSay = () => Promise.all(crowd.seats.map((seat) => say(seat, { bytes, count, isBatched: true })));
  await allSay();
  const usBefore = server && cpuUs(server);
  const startedAt = performance.now();
  await allSay();
  const said = count * crowd.seats.length;
  tell('updates of 300 B in batches, all', (said / (performance.now() - startedAt)) * 1_000);
  if (server !== undefined) tell('time of the server for each of these', (cpuUs(server) - usBefore) / said);

  const [, slow, ...others] = crowd.seats;
  await Promise.all(others.map((seat) => say(seat, { bytes, everyMs })));
  await tellTrips('round trip, others stream');
  if (name !== 'WebSocket') return;
  await tellTrips('round trip, one reads nothing');
  slow.client.stopReading();
  void say(slow, flood).catch(() => undefined);
  await tellTrips('round trip, one reads nothing', 'slow');
}

/** Times in the first session, in microseconds. */
async function roundTrips({ seats: [{ client, sessionId }] }, trips) {
  const times = [];
  for (let trip = -warmUpTrips; trip < trips; trip++) {
    const id = client.nextId();
    const startedAt = performance.now();
    await client.ask(id, promptLine(id, sessionId));
    if (trip >= 0) times.push((performance.now() - startedAt) * 1_000);
  }
  return times;
}

/** Resolves when its agent has said that. */
async function say({ client, sessionId }, order) {
  const id = client.nextId();
  await client.ask(id, orderLine(id, sessionId, order));
}

/** Clients with a session each, by stdio or by WebSocket. */
class Crowd {
  seats = [];
  #place;
  #server;
  #address;
  #token;
  /** Also of a run that is ended in its midst nothing is left. */
  #onExit = () => this.#server.kill('SIGTERM');

  static async start(name, connections) {
    const crowd = new Crowd();
    crowd.#place = new Place(`${benchAgent}[serve]\nconnections = ${connections}\n`);
    try {
      if (name === 'WebSocket') await crowd.#serve();
      await crowd.#seat([undefined]);
      crowd.firstMiB = crowd.pid && residentMiB(crowd.pid);
      const left = Array.from({ length: connections - 1 });
      await Promise.all(Array.from({ length: atOnce }, () => crowd.#seat(left)));
      return crowd;
    } catch (error) {
      await crowd.end();
      throw error;
    }
  }

  /** Process id of the server. */
  get pid() {
    return this.#server?.pid;
  }

  async #serve() {
    const { env, folder, home } = this.#place;
    const [program, ...args] = [...cai, 'serve', '--listen', '127.0.0.1:0', '--agent', 'bench'];
    this.#server = spawn(program, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'ignore'] });
    process.on('exit', this.#onExit);
    const [line] = await once(createInterface(this.#server.stdout), 'line');
    this.#address = `${line.replace('http', 'ws')}/acp`;
    this.#token = readFileSync(join(home, '.local/state/containai/serve/token'), 'utf8').trim();
    this.emptyMiB = residentMiB(this.pid);
  }

  async #seat(left) {
    while (left.length > 0) {
      left.pop();
      const cwd = this.#place.workspace();
      const client =
        this.#server === undefined
          ? this.#place.start('cai', cwd)
          : await SocketClient.open(this.#address, this.#token);
      await initialize(client);
      this.seats.push({ client, sessionId: await newSession(client, cwd) });
    }
  }

  async end() {
    await Promise.all(this.seats.map(({ client }) => client.kill()));
    if (this.#server !== undefined) {
      this.#server.kill('SIGTERM');
      await once(this.#server, 'close');
      process.off('exit', this.#onExit);
    }
    this.#place.remove();
  }
}
