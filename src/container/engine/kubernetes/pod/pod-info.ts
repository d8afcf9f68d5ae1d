/** A pod as a container in our own words. */
import type { Config } from '../../../../config/config';
import { engineProfile, type ContainerInfo, type ContainerRights } from '../../container-info';
import { nameOfObject } from './object-name';
import { labelsIn } from './labels';
import { networkLabel } from '../network-policy';
import { literalText } from './pod-body';
import { mountsIn } from './pod-mounts';
import { quantity } from '../rights';
import { mainContainer, type ContainerStatus, type Pod, type PodContainer } from './pod';

/** How `cai` names a pod: another pod of the same name is another container. */
export function idOf({ metadata: { name, uid } }: Pod): string {
  return `${nameOfObject(name)}_${uid}`;
}

/** The name of a container, and the uid of its pod where an id was given. */
export function partsOf(idOrName: string): { readonly name: string; readonly uid: string | undefined } {
  const [, name = idOrName, uid] = /^(.+)_([\da-f]{8}(?:-[\da-f]+){4})$/.exec(idOrName) ?? [];
  return { name, uid };
}

/** The container of which that is the pod. */
export function containerInfoOf(pod: Pod, shared: Config['kubernetes']['volumes']): ContainerInfo {
  const { metadata, spec, status } = pod;
  const main = spec.containers.find(({ name }) => name === mainContainer) ?? spec.containers[0]!;
  const told = status?.containerStatuses?.find(({ name }) => name === main.name);
  const { running, terminated } = told?.state ?? {};
  const startedAt = Date.parse(running?.startedAt ?? terminated?.startedAt ?? '');
  return {
    id: idOf(pod),
    name: nameOfObject(metadata.name),
    state: stateOf(pod, told),
    isRunning: running !== undefined && metadata.deletionTimestamp === undefined,
    exitCode: endOf(pod)?.exitCode ?? 0,
    isOomKilled: terminated?.reason === 'OOMKilled',
    startedAt: Number.isNaN(startedAt) ? undefined : startedAt,
    labels: labelsIn(metadata),
    env: (main.env ?? []).map(({ name, value = '' }) => `${name}=${literalText(value)}`),
    hostname: spec.hostname ?? metadata.name,
    user: `${spec.securityContext?.runAsUser}:${spec.securityContext?.runAsGroup}`,
    imageId: main.image,
    pid: 0,
    mounts: mountsIn(pod, main.volumeMounts ?? [], shared),
    rights: rightsOf(pod, main),
  };
}

/** How the main container of a pod has ended; `undefined`: it has not. One that a node gave up has no status. */
export function endOf({
  status,
}: Pod): { readonly exitCode: number; readonly finishedAt?: string } | undefined {
  const told = status?.containerStatuses?.find(({ name }) => name === mainContainer);
  if (told?.state?.terminated !== undefined) return told.state.terminated;
  return status?.phase === 'Failed' ? { exitCode: killedStatus } : undefined;
}

/** Status of a process that was killed. */
const killedStatus = 137;

/** In the engine's words of `ContainerInfo`. */
export function stateOf({ metadata, status }: Pod, told: ContainerStatus | undefined): string {
  if (metadata.deletionTimestamp !== undefined) return 'removing';
  if (status?.phase === 'Succeeded' || status?.phase === 'Failed') return 'exited';
  return told?.state?.running === undefined ? 'created' : 'running';
}

function rightsOf({ metadata, spec }: Pod, main: PodContainer): ContainerRights {
  const context = main.securityContext ?? {};
  const ofPod = spec.securityContext ?? {};
  const { type, localhostProfile } = context.seccompProfile ?? ofPod.seccompProfile ?? {};
  return {
    capabilities: [...(context.capabilities?.add ?? [])].sort(),
    isConfined:
      (context.capabilities?.drop ?? []).includes('ALL') &&
      context.allowPrivilegeEscalation === false &&
      context.privileged !== true &&
      [spec.hostNetwork, spec.hostPID, spec.hostIPC, spec.shareProcessNamespace].every(
        (each) => each !== true,
      ) &&
      (ofPod.supplementalGroups ?? []).length === 0,
    hasNetwork: metadata.labels?.[networkLabel] === 'open',
    seccomp: type === 'RuntimeDefault' ? engineProfile : (localhostProfile ?? 'unconfined'),
    cgroups: 'private',
    memoryBytes: quantity(main.resources?.limits?.memory ?? '0'),
    pids: 0,
    publishedOn: [],
  };
}
