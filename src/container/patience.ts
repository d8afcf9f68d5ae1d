/** Waits for what an engine, or another process, does to the container of one name, which may never end. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CaiError } from '../errors';
import { isRunning } from '../system/process-identity';
import type { ContainerInfo } from './engine/container-info';
import type { Engine } from './engine/engine';
import { label } from './spec/labels';

/** So long is waited for the same, in milliseconds. A pod may take 30 s to end. */
const mostMs = 90_000;

export class Patience {
  #seen: string | undefined;
  #endMs: number | undefined;

  constructor(private readonly name: string) {}

  /** Notes what a look has found; another container than before has its own time. */
  saw(info: ContainerInfo | undefined): void {
    if (info?.id !== this.#seen) this.#endMs = undefined;
    this.#seen = info?.id;
  }

  /** A pause while the container is being removed. Rejects with `CaiError` once it was waited for too long. */
  async whileRemoved(): Promise<void> {
    await this.#pause(
      50,
      `the container ${this.name} is being removed, and that does not end: remove it by hand, or restart the engine`,
    );
  }

  /** The same while the engine takes a moment to know of the container whose name it has given away. */
  async whileTaken(): Promise<void> {
    await this.#pause(
      20,
      `the engine says that the name ${this.name} is taken, but shows no such container: remove what has it ("docker rm -f ${this.name}", or "podman rm --force --storage ${this.name}"), or restart the engine`,
    );
  }

  async #pause(ms: number, failure: string): Promise<void> {
    this.#endMs ??= performance.now() + mostMs;
    if (performance.now() > this.#endMs) throw new CaiError('CONTAINER_START', failure);
    await sleep(ms);
  }
}

/** Waits for a container to be started by its maker. Whether that one has died, or takes too long. */
export async function isLeftUnfinished(engine: Engine, info: ContainerInfo): Promise<boolean> {
  const end = Date.now() + (await engine.about()).startMs;
  const isGone = () => isRunning(info.labels[label.maker] ?? '') === false;
  for (let pauseMs = 20; Date.now() < end && !isGone(); pauseMs = Math.min(2 * pauseMs, 500)) {
    await sleep(pauseMs);
    const now = await engine.inspectContainer(info.id);
    if (now?.state !== 'created') return false;
  }
  return true;
}
