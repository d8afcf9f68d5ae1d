/** Which engine is meant: the one door to all kinds of them. */
import type { Host } from '../../system/host';
import { originOf, resolveEngine } from './docker/context';
import { DockerEngine } from './docker/docker-engine';
import type { Engine } from './engine';

/** An engine that nobody has asked yet. */
export interface NamedEngine {
  /** Where it is and who says so, for people. */
  readonly shown: string;
  /** Finds out whether it is there. Rejects with `NO_ENGINE`. */
  connect(): Promise<Engine>;
}

/**
 * The engine of this environment: `wanted` is named on the command line, `configured` in the user's configuration. Fails
 * with `CaiError('NO_ENGINE')` where there can be none.
 */
export function findEngine(host: Host, wanted?: string, configured?: string): NamedEngine {
  const address = resolveEngine(host, wanted, configured);
  return {
    shown: `${address.endpoint} (${originOf(address)})`,
    connect: () => DockerEngine.connect(address, host),
  };
}
