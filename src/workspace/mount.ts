/** Where a workspace is inside its container. */
import { isInside } from './path-map';

/** Home folder of the agent's user in every container. */
export const agentHome = '/home/agent';

/** Where a workspace is whose own path cannot be used; in every container also a link to the workspace. */
export const fallbackMount = `${agentHome}/workspace`;

/** Folders of the image that a mount would hide, or that only root may pass. */
const imageFolders =
  '/bin /boot /dev /etc /lib /lib32 /lib64 /libx32 /proc /root /run /sbin /sys /usr /var/lib /var/run'.split(
    ' ',
  );

/**
 * The path of a workspace in its container, for its root's real path on the host: the same, so that every
 * path that an agent prints is one of the host, unless it collides with a folder that the image needs.
 */
export function mountPointOf(root: string): string {
  return [...imageFolders, agentHome].some((folder) => isInside(root, folder)) ? fallbackMount : root;
}
