/** Where a workspace is inside its container. */
import { isAbsolute, posix } from 'node:path';
import { CaiError } from '../errors';
import type { Host } from '../system/host';
import { isInside } from '../system/paths/is-inside';
import { quoted } from '../system/quoted';

/** Home folder of the agent's user in every container. */
export const agentHome = '/home/agent';

/** Where a workspace is whose own path cannot be used; in every container also a link to the workspace. */
export const fallbackMount = `${agentHome}/workspace`;

/** Folders of the image that a mount would hide, or that only root may pass. */
const imageFolders =
  '/bin /boot /dev /etc /lib /lib32 /lib64 /libx32 /proc /root /run /sbin /sys /usr /var/lib /var/run'.split(
    ' ',
  );

/** Whether a mount there hides nothing that the image needs or we put in, which would be written to it, on the host. */
export function isMountable(path: string): boolean {
  return ![...imageFolders, agentHome].some((folder) => isInside(path, folder) || isInside(folder, path));
}

/**
 * Where the workspace is inside: at its own path if that can be, so that what an agent prints is a path of the host. Fails
 * with `CaiError('CONFIG')` for a mount point that cannot be.
 */
export function mountOf(root: string, host: Host): string {
  const forced = host.env.CAI_ACP_WORKSPACE_MOUNT;
  if (forced === fallbackMount) return forced;
  if (forced === undefined) return isMountable(root) ? root : fallbackMount;
  if (isAbsolute(forced) && isMountable(posix.resolve(forced))) return posix.resolve(forced);
  throw new CaiError(
    'CONFIG',
    `CAI_ACP_WORKSPACE_MOUNT is ${quoted(forced)}, where nothing can be mounted: unset it, or use ${fallbackMount}`,
  );
}
