/** Whom everything in a container runs as. */
import { stat } from 'node:fs/promises';
import { commandWord, quoted } from '../../system/quoted';
import type { ContainerUser } from './spec';

/** Where `cai` itself runs as root: no agent does, and this is the first ordinary user of most systems. */
const ordinary: ContainerUser = { uid: 1000, gid: 1000 };
const writableForAll = 0o002;

/**
 * Whom everything in the container runs as: the user of the host, so that files in the workspace belong
 * to whom they should. For root the owner of the workspace, and never root itself. On a rootless engine
 * the user of the host is root inside, and has no rights beyond his own. `remedy`: what to do where that one cannot
 * write in the workspace.
 */
export async function containerUser(
  hostUser: ContainerUser,
  workspace: string | undefined,
  isRootless: boolean,
): Promise<{ readonly user: ContainerUser; readonly notice?: string; readonly remedy?: string }> {
  if (isRootless) return { user: { uid: 0, gid: 0 } };
  if (hostUser.uid !== 0) return { user: hostUser };
  const owned = workspace === undefined ? undefined : await stat(workspace);
  const isOwned = owned !== undefined && owned.uid !== 0;
  const { uid, gid } = isOwned ? owned : ordinary;
  const user = { uid, gid };
  const whose = isOwned ? 'as the owner of the workspace' : 'not as root';
  const notice = `cai runs as root: commands run ${whose}, with the user id ${uid}`;
  if (owned === undefined || isOwned || (owned.mode & writableForAll) !== 0) return { user, notice };
  return {
    user,
    notice: `${notice}, which cannot write in ${quoted(workspace)}`,
    remedy: `run cai as the user whose files those are to be, or: chown -R ${uid}:${gid} ${commandWord(workspace!)}`,
  };
}
