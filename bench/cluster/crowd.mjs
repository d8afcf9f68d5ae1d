/* Many sessions of one `cai --acp`, each in a workspace and so in a container of its own. */
import { copyFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '../client.mjs';
import { cai, initialize } from '../contenders.mjs';
import { orderLine, promptLine, requestLine } from '../messages.mjs';
import { proportionalMiB } from '../process-stats.mjs';

/** What every agent says until it ends. */
const stream = { bytes: 300, everyMs: 500 };
const warmUpTrips = 50;

/** One editor's. It grows. */
export class Crowd {
  /** Session ids, the oldest first. */
  #sessions = [];
  #client;

  /** `place` is configured. Nobody is in it yet. */
  static async open(place) {
    const crowd = new Crowd();
    crowd.#client = new Client('cai', [...cai, '--acp', 'bench'], { cwd: place.home, env: place.env });
    await initialize(crowd.#client);
    return crowd;
  }

  /** Opens sessions in these folders, all at once; resolves with how long each took to open, in seconds. */
  async grow(folders) {
    const startedAt = performance.now();
    const opened = await this.#newSessions(folders);
    this.#sessions.push(...opened.map(({ sessionId }) => sessionId));
    return opened.map(({ at }) => (at - startedAt) / 1_000);
  }

  /** All answers come on one connection, so they are told apart by their ids. */
  async #newSessions(folders) {
    const { child, closed } = this.#client;
    const opened = new Map(folders.map((folder) => [this.#client.nextId(), { folder }]));
    let rest = '';
    let left = opened.size;
    let take;
    const all = new Promise((resolve, reject) => {
      take = (chunk) => {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop();
        for (const { id, result, error } of lines.map((line) => JSON.parse(line))) {
          if (!opened.has(id)) continue;
          if (error !== undefined) reject(new Error(`session/new: ${error.message}`));
          Object.assign(opened.get(id), { sessionId: result?.sessionId, at: performance.now() });
          if (--left === 0) resolve();
        }
      };
    });
    child.stdout.on('data', take);
    try {
      for (const [id, { folder: cwd }] of opened)
        child.stdin.write(requestLine(id, 'session/new', { cwd, mcpServers: [] }));
      await Promise.race([all, closed.then(() => Promise.reject(new Error('cai has ended')))]);
    } finally {
      child.stdout.off('data', take);
    }
    return [...opened.values()];
  }

  /** From now on the agents of the last `count` sessions stream. */
  async stream(count) {
    for (const sessionId of this.#sessions.slice(-count)) {
      const id = this.#client.nextId();
      await this.#client.ask(id, orderLine(id, sessionId, stream));
    }
  }

  /** Times of small prompts in the first session, in milliseconds. */
  async roundTrips(trips) {
    const times = [];
    for (let trip = -warmUpTrips; trip < trips; trip++) {
      const id = this.#client.nextId();
      const startedAt = performance.now();
      await this.#client.ask(id, promptLine(id, this.#sessions[0]));
      if (trip >= 0) times.push(this.#client.reachedAt - startedAt);
    }
    return times;
  }

  /** Memory of the proxy, and of the processes that it has started, in MiB. */
  memory() {
    const { pid } = this.#client;
    const sum = (pids) => pids.reduce((total, each) => total + proportionalMiB(each), 0);
    return { proxy: sum([pid]), children: sum(descendants(pid)) };
  }

  /** Ends it as an editor does, however long that takes. */
  async end() {
    const { child, closed } = this.#client;
    child.stdin.end();
    await closed.catch(() => undefined);
  }

  /** Ends it at once. */
  async kill() {
    await this.#client.kill();
  }
}

/** A workspace with the agent in it. */
export function withAgent(folder) {
  for (const name of ['agent.mjs', 'messages.mjs'])
    copyFileSync(join(import.meta.dirname, '..', name), join(folder, name));
  return folder;
}

function descendants(pid) {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean),
  );
  return children.flatMap((child) => [child, ...descendants(child)]);
}
