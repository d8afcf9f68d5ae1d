/** The folders in which somebody who came in by `cai serve` may work. */
import { posix } from 'node:path';
import type { Host } from '../system/host';
import { realOrSame } from '../system/real-path';
import { isInside } from '../system/paths/is-inside';

/** Whether a folder lies in one of them, wherever links lead; always, where nothing is limited. */
export function isAllowed({ workspaces }: Host, path: string): boolean {
  if (workspaces === undefined) return true;
  if (!path.startsWith('/')) return false;
  const real = realOrSame(posix.resolve(path));
  return workspaces.some((folder) => isInside(real, folder));
}
