/** The containers and volumes that `cai` has made for one user. Others do not exist for it. */
import type { Engine } from './engine/engine';
import { servicesIn, serviceVolume } from './spec/service';
import { label, type Recorded } from './spec/labels';
import { dataFolder } from './spec/mounts/mounts';
import { isCopyVolume, isFolderVolume } from './spec/names';
import { objectIn } from '../system/unless';

export interface OwnContainer {
  readonly id: string;
  readonly name: string;
  /** Root of its workspace; `undefined`: none. */
  readonly workspace: string | undefined;
  readonly agent: string;
  /** The engine's word: `running`, `exited`, ... */
  readonly state: string;
  /** When it was made, in milliseconds since 1970. */
  readonly createdAt: number;
  /** Id of its image; `undefined`: its record cannot be read. */
  readonly image: string | undefined;
  /** Name of the volume with its agent's data; `undefined`: its record cannot be read. */
  readonly dataVolume: string | undefined;
  readonly services: readonly string[];
  /** Name of the volume with the copy of its workspace; `undefined`: it has no copy. */
  readonly copyVolume: string | undefined;
  /** Names of the volumes in place of folders of its workspace. */
  readonly folderVolumes: readonly string[];
}

export interface OwnVolume extends Pick<OwnContainer, 'name' | 'agent' | 'workspace'> {
  /** With the data of an agent or of a service beside it, the copy of a workspace, or in place of a folder of it. */
  readonly kind: 'agent' | 'service' | 'copy' | 'folder';
  /** Name of the service; `undefined`: it is of none. */
  readonly service: string | undefined;
}

/** The containers of the host's user with that id, running or not, sorted by workspace, then agent. */
export async function ownContainers(engine: Engine, hostUser: number): Promise<OwnContainer[]> {
  const listed = await engine.listContainers(labelsOf(hostUser));
  const containers = listed.map(({ labels, ...each }) => ({
    ...each,
    workspace: labels[label.workspace] === '' ? undefined : labels[label.workspace],
    agent: labels[label.agent] ?? '',
    services: servicesIn(labels),
    ...recordedIn(labels[label.spec]),
  }));
  const key = ({ workspace = '', agent, name }: OwnContainer) => [workspace, agent, name].join('\0');
  return containers.sort((one, other) => (key(one) < key(other) ? -1 : 1));
}

/** Whether processes run in a container that is in that state, or will again without being started. */
export function isUp(state: string): boolean {
  return !['created', 'configured', 'initialized', 'exited', 'stopped', 'removing', 'dead'].includes(state);
}

/** The volumes of the host's user with that id, sorted by name. */
export async function ownVolumes(engine: Engine, hostUser: number): Promise<OwnVolume[]> {
  const listed = await engine.listVolumes(labelsOf(hostUser));
  const volumes = listed.map(({ name, labels }) => {
    const [workspace, service] = [labels[label.workspace], labels[label.service]];
    return { name, kind: kindOf(name, service), agent: labels[label.agent] ?? '', workspace, service };
  });
  return volumes.sort((one, other) => (one.name < other.name ? -1 : 1));
}

function kindOf(name: string, service: string | undefined): OwnVolume['kind'] {
  if (isFolderVolume(name)) return 'folder';
  if (isCopyVolume(name)) return 'copy';
  return service === undefined ? 'agent' : 'service';
}

/** Names of the volumes that a container and the services beside it can have. */
export function volumesUsed(container: OwnContainer): string[] {
  const { dataVolume, copyVolume, folderVolumes, services } = container;
  return [
    dataVolume ?? [],
    copyVolume ?? [],
    folderVolumes,
    services.map((each) => serviceVolume(container, each)),
  ].flat();
}

/** The containers of services whose agent's container is not among `containers`. */
export async function orphanedServices(
  engine: Engine,
  hostUser: number,
  containers: readonly OwnContainer[],
): Promise<Pick<OwnContainer, 'id' | 'name'>[]> {
  const ids = new Set(containers.map(({ id }) => id));
  const all = await engine.listContainers({ [label.user]: String(hostUser) });
  return all.filter(({ labels }) => {
    const owner = labels[label.serviceOf];
    return owner !== undefined && !ids.has(owner);
  });
}

function labelsOf(hostUser: number): Record<string, string> {
  return { [label.managed]: 'true', [label.user]: String(hostUser) };
}

/** In the record of what a container was made with, which has a line for each mount. */
function recordedIn(
  record: string | undefined,
): Pick<OwnContainer, 'image' | 'dataVolume' | 'copyVolume' | 'folderVolumes'> {
  const { image, mounts = [] } = (objectIn(record) ?? {}) as Partial<Recorded>;
  const found = mounts.flatMap((line) => {
    const [, name, target] = /^volume (\S+) (.*) rw$/.exec(line) ?? [];
    return name === undefined ? [] : [{ name, target }];
  });
  return {
    image,
    dataVolume: found.find(({ target }) => target === dataFolder)?.name,
    copyVolume: found.find(({ name }) => isCopyVolume(name))?.name,
    folderVolumes: found.filter(({ name }) => isFolderVolume(name)).map(({ name }) => name),
  };
}
