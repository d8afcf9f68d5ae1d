import { World, type WorldOptions } from './world';

/**
 * Proxies that the tests of a file share, one for each way to start it. A test takes a workspace, and so an agent, for
 * itself; a proxy whose end a test has begun is not given to another.
 */
export class SharedWorlds {
  readonly #worlds = new Map<string, World>();
  #lastAlone = 0;

  constructor() {
    afterEach(async () => {
      for (const [name, world] of this.#worlds) {
        if (!world.process.stdin.writableEnded && world.process.exitCode === null && !world.process.killed)
          continue;
        this.#worlds.delete(name);
        await world.end();
      }
    });
    afterAll(() => Promise.all([...this.#worlds.values()].map((world) => world.end())));
  }

  /** An initialized one; not shared if a function is among the options. */
  async initialized(options: WorldOptions = {}, capabilities?: Parameters<typeof World.initialized>[1]) {
    const isAlone = Object.values(options).some((value) => typeof value === 'function');
    const name = JSON.stringify(isAlone ? ++this.#lastAlone : [options, capabilities]);
    const world = this.#worlds.get(name) ?? (await World.initialized(options, capabilities));
    this.#worlds.set(name, world);
    world.editor.takeAll();
    return world;
  }
}
