/** How many containers may run at once in the folders of somebody who came in by `cai serve`, and may use no others. */
import { join } from 'node:path';
import { CaiError } from '../errors';
import type { Host } from '../system/host';
import { ProcessLocks } from '../system/process-lock';
import { recordName } from '../system/state-folder';
import { isAllowed } from '../workspace/allowed';
import type { Engine } from './engine/engine';
import { ownContainers } from './user-containers';

/** How often it is tried to get the lock, in milliseconds. */
const pollMs = 20;

export interface ServedLimit {
  readonly host: Host;
  /** How many containers may run in the folders of somebody who may use no others. */
  readonly mostServed: number;
  /** Takes a sentence for the user. */
  readonly tell: (notice: string) => void;
}

/**
 * Makes or starts a container where fewer than `mostServed` run in the folders to which `host` is limited; everywhere if it is
 * not. Containers of such folders start one after the other. Rejects with `CaiError('QUOTA')`.
 */
export async function startWithinLimit<T>(
  engine: Engine,
  { host, mostServed, tell }: ServedLimit,
  start: () => Promise<T>,
): Promise<T> {
  if (host.workspaces === undefined) return await start();
  const onWait = (pid: number) => tell(`waiting for process ${pid}, which starts another container`);
  const locks = new ProcessLocks(join(host.folders.state, 'starts'));
  return await locks.hold(recordName(JSON.stringify(host.workspaces)), { pollMs, onWait }, async () => {
    const own = await ownContainers(engine, host.user.uid);
    const running = own.filter(
      ({ state, workspace }) => state === 'running' && workspace !== undefined && isAllowed(host, workspace),
    );
    if (running.length >= mostServed)
      throw new CaiError(
        'QUOTA',
        `${running.length} containers run in the folders that you may use, and no more may ("serve.containers" in the configuration of the server): close sessions in other workspaces, and try again once their containers have ended, or ask the owner of the server to end some with "cai stop"`,
      );
    return await start();
  });
}
