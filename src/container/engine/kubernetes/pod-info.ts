/** A pod as a container in our own words. */
import {
  engineProfile,
  type ContainerInfo,
  type ContainerMount,
  type ContainerRights,
} from '../container-info';
import { networkLabel } from './network-policy';
import { quantity } from './rights';
import { mainContainer, type ContainerStatus, type Pod, type PodContainer } from './pod';

/** How `cai` names a pod: another pod of the same name is another container. */
export function idOf({ metadata: { name, uid } }: Pod): string {
  return `${name}_${uid}`;
}

/** The name of a pod, and its uid where an id was given. */
export function partsOf(idOrName: string): { readonly name: string; readonly uid: string | undefined } {
  const [name = '', uid] = idOrName.split('_');
  return { name, uid };
}

/** The container of which that is the pod. */
export function containerInfoOf(pod: Pod): ContainerInfo {
  const { metadata, spec, status } = pod;
  const main = spec.containers.find(({ name }) => name === mainContainer) ?? spec.containers[0]!;
  const told = status?.containerStatuses?.find(({ name }) => name === main.name);
  const { running, terminated } = told?.state ?? {};
  const startedAt = Date.parse(running?.startedAt ?? terminated?.startedAt ?? '');
  return {
    id: idOf(pod),
    name: metadata.name,
    state: stateOf(pod, told),
    isRunning: running !== undefined && metadata.deletionTimestamp === undefined,
    exitCode: terminated?.exitCode ?? 0,
    isOomKilled: terminated?.reason === 'OOMKilled',
    startedAt: Number.isNaN(startedAt) ? undefined : startedAt,
    labels: metadata.annotations ?? {},
    env: (main.env ?? []).map(({ name, value = '' }) => `${name}=${value}`),
    hostname: spec.hostname ?? metadata.name,
    user: `${spec.securityContext?.runAsUser}:${spec.securityContext?.runAsGroup}`,
    imageId: main.image,
    pid: 0,
    mounts: mountsOf(pod, main),
    rights: rightsOf(pod, main),
  };
}

/** In the engine's words of `ContainerInfo`. */
export function stateOf({ metadata, status }: Pod, told: ContainerStatus | undefined): string {
  if (metadata.deletionTimestamp !== undefined) return 'removing';
  if (status?.phase === 'Succeeded' || status?.phase === 'Failed') return 'exited';
  return told?.state?.running === undefined ? 'created' : 'running';
}

/** Those that we have put in for our own files are not among them. */
function mountsOf({ spec }: Pod, main: PodContainer): ContainerMount[] {
  const volumes = new Map((spec.volumes ?? []).map((volume) => [volume.name, volume]));
  const mounts = (main.volumeMounts ?? []).flatMap(({ name, mountPath, readOnly = false }) => {
    const { hostPath, persistentVolumeClaim } = volumes.get(name) ?? {};
    const where = { target: mountPath, isReadOnly: readOnly };
    if (hostPath !== undefined) return [{ type: 'bind', source: hostPath.path, ...where }];
    if (persistentVolumeClaim !== undefined)
      return [{ type: 'volume', source: persistentVolumeClaim.claimName, ...where }];
    return [];
  });
  return mounts.sort((a, b) => (a.target < b.target ? -1 : 1));
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
