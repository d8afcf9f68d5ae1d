/** Several proxies of one user, one after the other or at once. */
import { World, type WorldOptions } from './world';

/** The worlds of one test, which share the folder of the first one. */
export class Worlds {
  readonly #worlds: World[] = [];

  /** The first one. */
  get first(): World {
    return this.#worlds[0]!;
  }

  /** Another proxy of the same user. */
  async begin(options: WorldOptions = {}): Promise<World> {
    const folder = this.#worlds.length === 0 ? {} : { folder: this.first.folder };
    const world = await World.initialized({ ...options, ...folder });
    this.#worlds.push(world);
    return world;
  }

  /** Ends all; the first one, which owns the folder, at last. */
  async end(): Promise<void> {
    for (const world of this.#worlds.splice(0).reverse()) await world.end();
  }
}
