import { CaiError } from '../errors';
import type { Engine } from './engine/engine';

/** A connection and a command on it need that many at once. */
const neededProcesses = 8;

/**
 * What to say when a container cannot be reached, or starts nothing, because its limit of processes is used up;
 * `undefined`: it is not, or the engine does not tell.
 */
export async function noRoomIn(
  engine: Pick<Engine, 'inspectContainer' | 'processCount'>,
  { id, name }: { readonly id: string; readonly name: string },
  cause: unknown,
): Promise<CaiError | undefined> {
  const [count, info] = await Promise.all([engine.processCount(id), engine.inspectContainer(id)]).catch(
    () => [],
  );
  const limit = info?.rights.pidsLimit ?? 0;
  if (count === undefined || limit === 0 || limit - count >= neededProcesses) return undefined;
  const what = `the container ${name} has no room for another process (${count} of ${limit})`;
  const remedy =
    'end its commands, if need be all with "cai stop", or raise container.pids in the configuration';
  return new CaiError('SSH_CONNECT', `${what}: ${remedy}`, undefined, { cause });
}
