/** Several processes may need the same image at once: one builds it, the others wait. */
import { join } from 'node:path';
import { CaiError, messageOf } from '../../errors';
import { ProcessLocks } from '../../system/process-lock';
import type { Progress } from './progress';

/** Does `work`, which builds `tag`, while no other process of this user does. Rejects with `CaiError('IMAGE')`. */
export async function whileLocked<T>(
  stateFolder: string,
  tag: string,
  progress: Progress,
  work: () => Promise<T>,
): Promise<T> {
  const folder = join(stateFolder, 'builds');
  const onWait = (pid: number) => progress.begin(`waiting for process ${pid}, which builds ${tag}`);
  const cannotLock = (cause: unknown) => {
    const what = `${folder}, which keeps builds apart, cannot be written: ${messageOf(cause)}`;
    throw new CaiError('IMAGE', what, undefined, { cause });
  };
  try {
    const locks = new ProcessLocks(folder);
    const lock = await locks.take(tag.replaceAll(/[/:]/g, '-'), { pollMs: 100, onWait }).catch(cannotLock);
    return await work().finally(() => lock!.release());
  } finally {
    progress.end();
  }
}
