import { stat } from 'node:fs/promises';
import type { ContainerUser } from './spec';

/** Where `cai` itself runs as root: no agent does, and this is the first ordinary user of most systems. */
const ordinary: ContainerUser = { uid: 1000, gid: 1000 };

/**
 * Whom everything in the container runs as: the user of the host, so that files in the workspace belong
 * to whom they should. For root the owner of the workspace, and never root itself. On a rootless engine
 * the user of the host is root inside, and has no rights beyond his own.
 */
export async function containerUser(
  hostUser: ContainerUser,
  workspace: string | undefined,
  isRootless: boolean,
): Promise<{ readonly user: ContainerUser; readonly notice?: string }> {
  if (isRootless) return { user: { uid: 0, gid: 0 } };
  if (hostUser.uid !== 0) return { user: hostUser };
  const { uid, gid } = workspace === undefined ? hostUser : await stat(workspace);
  const user = uid === 0 ? ordinary : { uid, gid };
  const whose = uid === 0 ? 'not as root' : 'as the owner of the workspace';
  return { user, notice: `cai runs as root: commands run ${whose}, with the user id ${user.uid}` };
}
