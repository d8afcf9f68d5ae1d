/** How Kubernetes is asked for a container: a bare pod, which nothing restarts or moves. */
import { agentHome } from '../../../workspace/mount';
import { engineProfile, type ContainerMount } from '../container-info';
import type { ContainerPlan, InnerEntry } from '../engine';
import { networkLabel } from './network-policy';
import { mainContainer, type PodContainer, type PodVolume, type VolumeMount } from './pod';
import { byDepth, podFiles } from './pod-files';
import { podWall } from './pod-network';

/** What every pod of ours is found by; all labels of a container are annotations, which may hold any text. */
export const selectable = ['containai.managed', 'containai.user'] as const;
/** So much a node must have free, however much a pod may use. */
const requests = { memory: '256Mi', cpu: '100m' };

/** Port of the pod's own loopback address at which its keeper listens. */
export const doorPort = 2222;

/** The body of the requests for its Secret and for the pod. Source: Kubernetes API, core/v1. */
export function podBody(
  name: string,
  secretName: string,
  plan: ContainerPlan,
  entries: readonly InnerEntry[],
) {
  const [uid, gid] = plan.user.split(':').map(Number);
  const { rights } = plan;
  const wall = podWall(rights.hasNetwork);
  const files = podFiles([...entries, ...wall.entries], secretName, agentHome, wall.script);
  const labels = {
    ...Object.fromEntries(
      selectable.flatMap((key) => (plan.labels[key] === undefined ? [] : [[key, plan.labels[key]]])),
    ),
    ...(rights.hasNetwork && { [networkLabel]: 'open' }),
  };
  const own = plan.mounts.map((mount, index) => mounted(mount, `m${index}`));
  const shared = {
    image: plan.image,
    imagePullPolicy: 'IfNotPresent',
    // A quota wants to know of each container. They do not add up, as the two never run at once.
    resources: {
      requests,
      limits: {
        ...(rights.memoryBytes > 0 && { memory: String(rights.memoryBytes) }),
        ...(plan.cpus > 0 && { cpu: String(plan.cpus) }),
      },
    } as PodContainer['resources'] & object,
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: {
        drop: ['ALL'],
        ...(rights.capabilities.length > 0 && { add: [...rights.capabilities] }),
      },
    },
  };
  const main: PodContainer & object = {
    ...shared,
    name: mainContainer,
    command: [...plan.command],
    workingDir: plan.workingFolder,
    env: Object.entries({ ...plan.env, CAI_PORT: String(doorPort) }).map(([key, value]) => ({
      name: key,
      value,
    })),
    volumeMounts: byDepth([...files.mounts, ...own.map(({ mount }) => mount)]),
  };
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels, annotations: { ...plan.labels } },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 5,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      ...(plan.hostname !== undefined && { hostname: plan.hostname }),
      ...(plan.extraHosts.length > 0 && { hostAliases: plan.extraHosts.map(aliasOf) }),
      securityContext: {
        runAsUser: uid,
        runAsGroup: gid,
        fsGroup: gid,
        ...(uid !== 0 && { runAsNonRoot: true }),
        ...(rights.seccomp === engineProfile && { seccompProfile: { type: 'RuntimeDefault' } }),
      },
      volumes: [...files.volumes, ...own.map(({ volume }) => volume)],
      initContainers: [
        {
          ...shared,
          name: 'files',
          command: [...files.initCommand],
          env: [...wall.env],
          volumeMounts: [...files.initMounts],
          terminationMessagePolicy: 'FallbackToLogsOnError',
        },
      ],
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

function mounted({ type, source, target, isReadOnly }: ContainerMount, name: string) {
  const mount: VolumeMount = { name, mountPath: target, ...(isReadOnly && { readOnly: true }) };
  const volume: PodVolume =
    type === 'volume'
      ? { name, persistentVolumeClaim: { claimName: source } }
      : { name, hostPath: { path: source } };
  return { mount, volume };
}

function aliasOf(host: string): { readonly ip: string; readonly hostnames: readonly string[] } {
  const at = host.indexOf(':');
  return { ip: host.slice(at + 1), hostnames: [host.slice(0, at)] };
}
