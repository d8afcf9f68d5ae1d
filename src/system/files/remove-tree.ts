/** The end of a folder in which others may work meanwhile. */
import type { Host } from '../host';
import { safeProgram } from '../paths/safe-program';
import { outputOf } from '../program-output';

/** In milliseconds. */
const limitMs = 10 * 60_000;

/**
 * Removes a file, or a folder with all that is in it; rejects with what "rm" says. Unlike Node's own, it does not follow a
 * link that an agent puts in the place of a folder meanwhile.
 */
export async function removeTree(path: string, host: Host): Promise<void> {
  const rm = safeProgram('rm', host);
  if (rm === undefined) throw new Error('there is no program "rm"');
  await outputOf(rm, ['-rf', '--', path], { env: host.envForOthers, limitMs });
}
