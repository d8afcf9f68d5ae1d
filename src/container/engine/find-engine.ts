/** Which engine is meant: the one door to all kinds of them. */
import type { Config } from '../../config/config';
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
 * The engine of this environment, as the user's configuration has it; `context` is named on the command line. Fails with
 * `CaiError('NO_ENGINE')` where there can be none.
 */
export function findEngine(
  host: Host,
  configured: Partial<Config['engine']> = {},
  context = undefined as string | undefined,
): NamedEngine {
  const address = resolveEngine(host, context, configured.context);
  return {
    shown: `${address.endpoint} (${originOf(address)})`,
    connect: () => DockerEngine.connect(address, host, configured.shares),
  };
}
