/*
 * Many sessions over several agents: one `cai` that has all of them, or a contender for each agent, which is what
 * an editor would have to start without it.
 */
import { initialize, newSession } from './contenders.mjs';

/** Opens that many sessions, shared out over that many agents. `seats` are the sessions, each with its client. */
export class Fleet {
  /** All clients, without repetition. */
  clients = [];
  /** `client` and `sessionId` of each session; neighbours are of different agents. */
  seats = [];

  /** Starts them. */
  static async start(place, name, { sessions, children }) {
    const fleet = new Fleet();
    try {
      await fleet.#open(place, name, sessions, children);
      return fleet;
    } catch (error) {
      await fleet.kill();
      throw error;
    }
  }

  async #open(place, name, sessions, children) {
    const folders = Array.from({ length: children }, () => place.workspace());
    for (const folder of folders) {
      if (name === 'cai' && this.clients.length > 0) continue;
      const client = place.start(name, folder);
      this.clients.push(client);
      await initialize(client);
    }
    for (let session = 0; session < sessions; session++) {
      const client = this.clients[session % this.clients.length];
      this.seats.push({ client, sessionId: await newSession(client, folders[session % children]) });
    }
  }

  /** Process ids of the contenders. */
  get pids() {
    return this.clients.map(({ pid }) => pid);
  }

  /** Ends it as an editor does. */
  async stop() {
    await Promise.all(this.clients.map((client) => client.stop()));
  }

  /** Ends it, also while it floods. */
  async kill() {
    await Promise.all(this.clients.map((client) => client.kill()));
  }
}
