/** What is mounted in a container. */
import { posix } from 'node:path';
import { agentHome } from '../../../workspace/mount';
import type { ContainerMount } from '../../engine/container-info';
import { copyVolumeName, dataVolumeName, folderVolumeName } from '../names';
import type { Bind, ContainerUser, Settings } from '../spec';

/** Where an agent keeps sign-ins and history: outlives the container. */
export const dataFolder = `${agentHome}/.data`;

/** A mount in one line, as labels of containers record it. */
export function mountText({ type, source, target, isReadOnly }: ContainerMount): string {
  return `${type} ${source} ${target} ${isReadOnly ? 'ro' : 'rw'}`;
}

/** What is mounted; the data volume first. */
export function mountsOf(settings: Settings, user: ContainerUser): ContainerMount[] {
  const source = dataVolumeName(settings, user);
  const binds = allBinds(settings).map((bind) => ({ type: 'bind', ...bind }));
  const { workingFolder: target, isCopied } = settings;
  const copy = { type: 'volume', source: copyVolumeName(settings), target, isReadOnly: false };
  const data = { type: 'volume', source, target: dataFolder, isReadOnly: false };
  return [data, ...(isCopied ? [copy] : []), ...binds, ...folderMounts(settings)];
}

/** All mounts of the host, each after that in which it lies. */
export const allBinds = ({ binds, protection = [] }: Settings): Bind[] => [...binds, ...protection];

/** The mounts in place of folders of the workspace. */
export function folderMounts(settings: Settings): ContainerMount[] {
  return settings.own.map((folder) => ({
    type: 'volume',
    source: folderVolumeName(settings, folder),
    target: posix.join(settings.workingFolder, folder),
    isReadOnly: false,
  }));
}
