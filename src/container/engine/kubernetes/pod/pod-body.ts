/** How Kubernetes is asked for a container: a bare pod, which nothing restarts or moves. */
import type { Config } from '../../../../config/config';
import { agentHome } from '../../../../workspace/mount';
import { engineProfile } from '../../container-info';
import type { ContainerPlan, InnerEntry, Labels } from '../../engine';
import { annotationsOf, pairsOf, selectableOf, splitAt } from './labels';
import { networkLabel } from '../network-policy';
import { objectName } from './object-name';
import { firstContainer, mainContainer, type PodContainer, type SecurityContext } from './pod';
import { podFiles } from './pod-files';
import { podMounts } from './pod-mounts';
import { podWall } from './pod-network';
import { quantity } from '../rights';

/** What a node must have free for a pod, however much that may use, unless the user says otherwise. */
const usualRequests = { memory: '256Mi', cpu: '100m' };

/** Port of the pod's own loopback address at which its keeper (`inside/keeper`) listens. */
export const doorPort = 2222;

interface PodRequest {
  /** As `Engine.createContainer` has it. */
  readonly name: string;
  readonly secretName: string;
  /** Its image has this environment: `NAME=value`. */
  readonly imageEnv: readonly string[];
  readonly plan: ContainerPlan;
  readonly entries: readonly InnerEntry[];
  readonly wanted: Config['kubernetes'];
  /** After so many seconds the cluster ends it, whatever has become of its maker; absent: never. */
  readonly limitSeconds?: number | undefined;
}

/** The bodies of the requests. Source: Kubernetes API, core/v1. Throws as `sharedPlace`. */
export function podBody({ name, secretName, imageEnv, plan, entries, wanted, limitSeconds }: PodRequest) {
  const own = podMounts(plan.mounts, wanted.volumes);
  const kept = own.mounts.filter(({ name: volume }) => own.claimed.has(volume));
  const memory = sharedMemory(plan);
  const wall = podWall(plan.rights.hasNetwork, wanted.allowsOwnNode);
  const files = podFiles([...entries, ...wall.entries], secretName, { home: agentHome, kept });
  const writable = writableIn(wanted);
  const labels = {
    ...pairsOf(wanted.labels),
    ...selectableOf(plan.labels),
    ...(plan.rights.hasNetwork && { [networkLabel]: 'open' }),
  };
  const shared = {
    image: plan.image,
    imagePullPolicy: 'IfNotPresent',
    securityContext: securityOf(plan, wanted),
    // A quota wants to know of each container. They do not add up, as the two never run at once.
    resources: resourcesOf(plan, wanted),
  };
  const main: PodContainer & object = {
    ...shared,
    name: mainContainer,
    command: plan.command.map(literal),
    workingDir: plan.workingFolder,
    env: environmentOf(imageEnv, { ...plan.env, CAI_PORT: String(doorPort), CAI_FILTER: '1' }),
    volumeMounts: byDepth([...files.mounts, ...own.mounts, ...writable.mounts, ...memory.mounts]),
  };
  const first: PodContainer & object = {
    ...shared,
    name: firstContainer,
    command: ['/bin/sh', '-c', literal(['set -e', ...wall.script, ...files.script].join('\n'))],
    env: wall.env,
    volumeMounts: files.initMounts,
    terminationMessagePolicy: 'FallbackToLogsOnError',
  };
  const annotations = { ...pairsOf(wanted.annotations), ...annotationsOf(plan.labels) };
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: objectName(name), labels, annotations },
    spec: {
      ...podSettings(plan, wanted),
      ...(limitSeconds !== undefined && { activeDeadlineSeconds: limitSeconds }),
      volumes: [...files.volumes, ...own.volumes, ...writable.volumes, ...memory.volumes],
      initContainers: [first],
      containers: [main],
    },
  };
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: secretName, labels },
    immutable: true,
    data: files.data,
  };
  return { pod, secret };
}

function podSettings(
  { user, hostname, extraHosts, loopbackNames = [], rights }: ContainerPlan,
  wanted: Config['kubernetes'],
) {
  const hosts = [...extraHosts, ...loopbackNames.map((name) => `${name}:127.0.0.1`)];
  const [uid, gid] = user.split(':').map(Number);
  const { nodeSelector, tolerations, runtimeClass, pullSecrets, priorityClass } = wanted;
  return {
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: 5,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    ...(hostname !== undefined && { hostname }),
    ...(hosts.length > 0 && { hostAliases: hosts.map(aliasOf) }),
    ...(nodeSelector.length > 0 && { nodeSelector: pairsOf(nodeSelector) }),
    ...(tolerations.length > 0 && { tolerations: tolerations.map(tolerationOf) }),
    ...(priorityClass !== undefined && { priorityClassName: priorityClass }),
    ...(runtimeClass !== undefined && { runtimeClassName: runtimeClass }),
    ...(pullSecrets.length > 0 && { imagePullSecrets: pullSecrets.map((name) => ({ name })) }),
    securityContext: {
      runAsUser: uid,
      runAsGroup: gid,
      // By this, the user can write in claims; those whose root has that group already are left alone.
      fsGroup: gid,
      fsGroupChangePolicy: 'OnRootMismatch',
      ...(uid !== 0 && { runAsNonRoot: true }),
      ...(rights.seccomp === engineProfile && { seccompProfile: { type: 'RuntimeDefault' } }),
    },
  };
}

/** Without it the runtime gives 64 MiB. Source: Kubernetes, "Volumes", emptyDir. */
function sharedMemory({ shmBytes }: ContainerPlan) {
  if (shmBytes === undefined) return { volumes: [], mounts: [] };
  const emptyDir = { medium: 'Memory', sizeLimit: String(shmBytes) };
  return {
    volumes: [{ name: 'cai-shm', emptyDir }],
    mounts: [{ name: 'cai-shm', mountPath: '/dev/shm' }],
  };
}

function securityOf(
  { rights: { capabilities } }: ContainerPlan,
  { writableFolders }: Config['kubernetes'],
): SecurityContext {
  return {
    ...(writableFolders.length > 0 && { readOnlyRootFilesystem: true }),
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'], ...(capabilities.length > 0 && { add: capabilities }) },
  };
}

function resourcesOf(
  { rights: { memoryBytes }, cpus }: ContainerPlan,
  wanted: Config['kubernetes'],
): PodContainer['resources'] & object {
  const limits: Record<string, string> = {
    ...(memoryBytes > 0 && { memory: String(memoryBytes) }),
    ...(cpus > 0 && { cpu: String(cpus) }),
  };
  const requests: Record<string, string> = { ...usualRequests, ...pairsOf(wanted.requests) };
  for (const [name, amount] of Object.entries(requests)) {
    const limit = limits[name];
    if (limit !== undefined && quantity(limit) < quantity(amount)) requests[name] = limit;
    // Of what Kubernetes does not know itself, as of graphics cards, nobody may use more or less.
    if (name.includes('/')) limits[name] = amount;
  }
  return { requests, limits };
}

/** The only folders that can be written besides home, data and mounts; none: what the image lets the user write. */
function writableIn({ writableFolders }: Config['kubernetes']) {
  const mounts = writableFolders.map((mountPath, index) => ({ name: `writable${index}`, mountPath }));
  return { mounts, volumes: mounts.map(({ name }) => ({ name, emptyDir: {} })) };
}

/** As an engine merges the two; the whole of it is told of the pod later, as Docker tells it. */
function environmentOf(imageEnv: readonly string[], own: Labels) {
  const all = { ...Object.fromEntries(imageEnv.map((line) => splitAt(line, '='))), ...own };
  return Object.entries(all).map(([name, value]) => ({ name, value: literal(value) }));
}

/** Kubernetes puts the values of variables into commands and variables. */
function literal(text: string): string {
  return text.replaceAll('$', '$$$$');
}

/** What a text is after Kubernetes has put nothing into it. */
export function literalText(written: string): string {
  return written.replaceAll('$$', '$');
}

/** A mount comes after that in which it lies. */
function byDepth<T extends { readonly mountPath: string }>(mounts: readonly T[]): T[] {
  return [...mounts].sort((one, other) => (one.mountPath < other.mountPath ? -1 : 1));
}

function aliasOf(host: string) {
  const [name, ip] = splitAt(host, ':');
  return { ip, hostnames: [name] };
}

function tolerationOf(text: string) {
  const [taint, effect] = splitAt(text, ':');
  if (!taint.includes('=')) return { key: taint, operator: 'Exists', effect };
  const [key, value] = splitAt(taint, '=');
  return { key, operator: 'Equal', value, effect };
}
