/** Where a workspace is inside its container. */
import { isInside } from '../paths/path-map';

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
 * Whether something can be mounted at a path inside without hiding what the image needs, and without
 * getting into the way of the files that we put in: those would be written into it, on the host.
 */
export function isMountable(path: string): boolean {
  return ![...imageFolders, agentHome].some((folder) => isInside(path, folder) || isInside(folder, path));
}

/**
 * The path of a workspace in its container, for its root's real path on the host: the same, so that every
 * path that an agent prints is one of the host, unless nothing can be mounted there.
 */
export function mountPointOf(root: string): string {
  return isMountable(root) ? root : fallbackMount;
}
