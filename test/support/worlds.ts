/** Several proxies of one user, one after the other or at once. */
import { cpSync, readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { leave } from './dialogue';
import { newFolder } from './temp-folder';
import { World, type WorldOptions } from './world';

/** The worlds of one test, which share a folder. */
export class Worlds {
  /** Of all tests, as what is kept names it. */
  readonly folder = newFolder();
  readonly #worlds: World[] = [];
  readonly #left = new Map<string, { readonly copy: string; readonly result: unknown }>();

  /** The first one. */
  get first(): World {
    return this.#worlds[0]!;
  }

  /** Another proxy of the same user. */
  async begin(options: WorldOptions = {}): Promise<World> {
    const world = await World.initialized({ ...options, folder: this.folder });
    this.#worlds.push(world);
    return world;
  }

  /** The user's folder as after a proxy that did `act` and has ended; done once for all tests that name it so. */
  async after<T>(name: string, act: (world: World) => Promise<T>): Promise<T> {
    const known = this.#left.get(name);
    if (known !== undefined) {
      cpSync(known.copy, this.folder, { recursive: true });
      return known.result as T;
    }
    const world = await this.begin();
    const result = await act(world);
    expect(await leave(world)).toBe(0);
    const copy = newFolder();
    // Sockets cannot be copied.
    const filter = (path: string): boolean => !basename(path).startsWith('.puppets-');
    cpSync(this.folder, copy, { recursive: true, filter });
    this.#left.set(name, { copy, result });
    return result;
  }

  /** Ends all, and empties the folder. */
  async end(): Promise<void> {
    for (const world of this.#worlds.splice(0).reverse()) await world.end();
    for (const name of readdirSync(this.folder))
      rmSync(join(this.folder, name), { recursive: true, force: true });
  }
}
