/** The names of containers and of their volumes. */
import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import type { ContainerUser, Settings } from './spec';

export type Named = Pick<Settings, 'workspace' | 'agent' | 'hostUser' | 'authorizedKey'>;

/** `cai-<folder>-<12 hex digits>`, the same for the same user, key of that user, workspace and agent. */
export function containerName(settings: Named): string {
  // A user with several state folders has a key in each, which does not open the containers of the others.
  return nameOf(settings, [settings.authorizedKey]);
}

const ownVolumeEnd = '-data';
const copyVolumeEnd = '-copy';
const folderVolumeEnd = '-own';

/** Name of the volume in place of a folder of the workspace, which all agents there share. */
export function folderVolumeName(settings: Settings, folder: string): string {
  return `${nameOf({ ...settings, agent: '' }, [folder])}${folderVolumeEnd}`;
}

/** Whether `folderVolumeName` has given that name. */
export const isFolderVolume = (volume: string): boolean => volume.endsWith(folderVolumeEnd);

/** Name of the volume with the copy of a workspace. */
export function copyVolumeName(settings: Settings): string {
  return `${nameOf({ ...settings, agent: '' }, [])}${copyVolumeEnd}`;
}

/** Whether `copyVolumeName` has given that name. */
export const isCopyVolume = (volume: string): boolean => volume.endsWith(copyVolumeEnd);

function nameOf(
  { workspace = '', agent, hostUser }: Omit<Named, 'authorizedKey'>,
  more: readonly string[],
): string {
  const folder = posix
    .basename(workspace)
    .toLowerCase()
    .replace(/[^a-z0-9_.-]+/g, '-')
    .slice(0, 30);
  const id = hash([workspace, agent, hostUser.uid, ...more]).slice(0, 12);
  return `cai-${folder.replace(/^[^a-z0-9]+/, '') || 'none'}-${id}`;
}

/** Whether a name that `dataVolumeName` has given is of the volume of one workspace. */
export const isOfOneWorkspace = (volume: string): boolean => volume.endsWith(ownVolumeEnd);

/** Name of an agent's data volume: the user's for all workspaces, or one for each; the same with another key. */
export function dataVolumeName(settings: Settings, user: ContainerUser): string {
  const { agent, hostUser, data } = settings;
  if (data === 'workspace') return `${nameOf(settings, [])}${ownVolumeEnd}`;
  // Its files belong to one user: root works for several.
  const owner = user.uid === hostUser.uid ? `${user.uid}` : `${hostUser.uid}-${user.uid}`;
  // A name that engines do not take becomes one.
  const text = /^[a-z0-9][a-z0-9_.-]{0,30}$/.test(agent) ? agent : hash(agent).slice(0, 12);
  return `cai-data-${text}-${owner}`;
}

function hash(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}
