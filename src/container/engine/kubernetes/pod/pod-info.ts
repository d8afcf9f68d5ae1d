/** A pod as a container in our own words. */
import type { Config } from '../../../../config/config';
import { engineProfile, killedStatus, type ContainerInfo, type ContainerRights } from '../../container-info';
import { printableLine } from '../../../../system/quoted';
import { nameOfObject } from './object-name';
import { labelsIn } from './labels';
import { networkLabel } from '../network-policy';
import { literalText } from './pod-body';
import { mountsIn } from './pod-mounts';
import { quantity } from '../rights';
import { firstContainer, mainContainer, type ContainerStatus, type Pod, type PodContainer } from './pod';

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
export function containerInfoOf(
  pod: Pod,
  { volumes: shared, injected }: Pick<Config['kubernetes'], 'volumes' | 'injected'>,
): ContainerInfo {
  const { metadata, spec, status } = pod;
  const main = spec.containers.find(({ name }) => name === mainContainer) ?? spec.containers[0]!;
  const strangers = strangersIn(pod, main, injected);
  const { running, terminated } = statusIn(status, main.name)?.state ?? {};
  const state = stateOf(pod);
  const startedAt = Date.parse(running?.startedAt ?? terminated?.startedAt ?? '');
  return {
    id: idOf(pod),
    name: nameOfObject(metadata.name),
    state,
    isRunning: state === 'running',
    exitCode: endOf(pod)?.exitCode ?? 0,
    isOomKilled: terminated?.reason === 'OOMKilled',
    endedBecause: reasonOf(pod),
    startedAt: Number.isNaN(startedAt) ? undefined : startedAt,
    labels: labelsIn(metadata),
    env: (main.env ?? []).map(({ name, value = '' }) => `${name}=${literalText(value)}`),
    hostname: spec.hostname ?? metadata.name,
    user: `${spec.securityContext?.runAsUser}:${spec.securityContext?.runAsGroup}`,
    imageId: main.image,
    pid: 0,
    mounts: mountsIn(pod, main.volumeMounts ?? [], shared),
    rights: rightsOf(pod, main, strangers),
    strangers: strangers.map(({ name }) => name),
  };
}

/** How the main container of a pod has ended; `undefined`: it has not. One that a node gave up has no status. */
export function endOf(pod: Pod): { readonly exitCode: number; readonly finishedAt?: string } | undefined {
  const { status } = pod;
  const { terminated } = statusIn(status, mainContainer)?.state ?? {};
  if (terminated !== undefined) return terminated;
  return status?.phase === 'Failed' || isLost(pod) ? { exitCode: killedStatus } : undefined;
}

/** Why a node or the cluster has ended a pod: evicted it, shut down, lost it. */
function reasonOf(pod: Pod): string | undefined {
  const { reason, message = '' } = pod.status ?? {};
  if (isLost(pod)) return 'its node is lost';
  return reason === undefined
    ? undefined
    : printableLine([reason, message.trim()].filter(Boolean).join(': '));
}

/**
 * Whether its node has not been heard of for so long that the cluster no longer counts on the pod: nobody will tell of its
 * end. Without probes, a pod is ready as long as it runs, but for containers that the cluster has added. Source: Kubernetes,
 * node lifecycle controller.
 */
export function isLost({ metadata: { deletionTimestamp }, status }: Pod): boolean {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const isToldToRun = statusIn(status, mainContainer)?.state?.running !== undefined;
  const isEnding = deletionTimestamp !== undefined && Date.parse(deletionTimestamp) + lateMs > Date.now();
  return isToldToRun && ready?.status === 'False' && ready.reason !== notReadyReason && !isEnding;
}

/** With which a node says itself that a container of a pod is not ready. Source: Kubernetes, kubelet/status/generate.go. */
const notReadyReason = 'ContainersNotReady';

/** How late a node may tell that a pod has ended, in milliseconds. */
const lateMs = 30_000;

/** In the engine's words of `ContainerInfo`. */
function stateOf(pod: Pod): string {
  if (isLost(pod)) return 'exited';
  if (pod.metadata.deletionTimestamp !== undefined) return 'removing';
  if (endOf(pod) !== undefined) return 'exited';
  return statusIn(pod.status, mainContainer)?.state?.running === undefined ? 'created' : 'running';
}

function statusIn(status: Pod['status'], container: string): ContainerStatus | undefined {
  return status?.containerStatuses?.find(({ name }) => name === container);
}

/** Other containers than those that we ask for. A person's look into the pod is expected by nobody. */
function strangersIn(
  { spec }: Pod,
  main: PodContainer,
  injected: Config['kubernetes']['injected'],
): readonly { readonly name: string }[] {
  const added = [
    ...spec.containers.filter((each) => each !== main),
    ...(spec.initContainers ?? []).filter(
      ({ name, restartPolicy }) => name !== firstContainer || restartPolicy !== undefined,
    ),
  ];
  return [
    ...added.filter(({ name, image }) => !injected.includes(name) && !injected.includes(image)),
    ...(spec.ephemeralContainers ?? []),
  ];
}

function rightsOf(
  { metadata, spec }: Pod,
  main: PodContainer,
  strangers: readonly object[],
): ContainerRights {
  const context = main.securityContext ?? {};
  const ofPod = spec.securityContext ?? {};
  const { type, localhostProfile } = context.seccompProfile ?? ofPod.seccompProfile ?? {};
  return {
    capabilities: [...(context.capabilities?.add ?? [])].sort(),
    // Another container would share its network and volumes. One that runs before it is restricted by its namespace.
    isConfined:
      strangers.length === 0 &&
      context.runAsUser === undefined &&
      (context.capabilities?.drop ?? []).includes('ALL') &&
      context.allowPrivilegeEscalation === false &&
      context.privileged !== true &&
      [spec.hostNetwork, spec.hostPID, spec.hostIPC, spec.shareProcessNamespace].every(
        (each) => each !== true,
      ) &&
      (ofPod.supplementalGroups ?? []).length === 0,
    hasNetwork: metadata.labels?.[networkLabel] !== undefined,
    seccomp: type === 'RuntimeDefault' ? engineProfile : (localhostProfile ?? 'unconfined'),
    cgroups: 'private',
    memoryBytes: quantity(main.resources?.limits?.memory ?? '0'),
    pids: 0,
    publishedOn: [],
  };
}
