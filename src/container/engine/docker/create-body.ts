/** How Docker's API is asked for a container. */
import { engineProfile } from '../container-info';
import type { ContainerPlan } from '../engine';
import { givenProfile } from '../seccomp';

/** The body of the request to create it. Source: Docker Engine API, ContainerCreate. */
export function createBody(plan: ContainerPlan) {
  return {
    Image: plan.image,
    ...(plan.hostname !== undefined && { Hostname: plan.hostname }),
    User: plan.user,
    // None, whatever the image has; podman takes an empty list for nothing said.
    Entrypoint: [''],
    Cmd: [...plan.command],
    // What our first processes end at, whatever the image has.
    StopSignal: 'SIGTERM',
    WorkingDir: plan.workingFolder,
    Env: Object.entries(plan.env).map(([variable, value]) => `${variable}=${value}`),
    Labels: { ...plan.labels },
    HostConfig: hostConfigOf(plan),
  };
}

function hostConfigOf({ rights, mounts, volumeLabels, ...plan }: ContainerPlan) {
  const volumeOptions = { NoCopy: plan.fillsVolumes !== true, Labels: { ...volumeLabels }, DriverConfig: {} };
  const seccomp = rights.seccomp === engineProfile ? [] : [`seccomp=${givenProfile(rights.seccomp)}`];
  return {
    // Our first process is the first one itself: nothing inside can stop or kill that one.
    Init: false,
    AutoRemove: plan.isTemporary,
    CapDrop: ['ALL'],
    CapAdd: [...rights.capabilities],
    SecurityOpt: ['no-new-privileges', ...seccomp],
    IpcMode: 'private',
    // Engines before API 1.41 heed none.
    CgroupnsMode: 'private',
    Memory: rights.memoryBytes,
    MemorySwap: rights.memoryBytes,
    NanoCpus: Math.round(plan.cpus * 1e9),
    PidsLimit: rights.pids,
    ...networkConfig(plan, rights.hasNetwork),
    ...(plan.shmBytes !== undefined && { ShmSize: plan.shmBytes }),
    Mounts: mounts.map(({ type, source, target, isReadOnly }) => ({
      Type: type,
      Source: source,
      Target: target,
      ReadOnly: isReadOnly,
      ...(type === 'volume' && { VolumeOptions: volumeOptions }),
    })),
    LogConfig: { Type: 'json-file', Config: { 'max-size': '1m' } },
  };
}

function networkConfig(
  {
    networkOf,
    extraHosts,
    loopbackNames = [],
  }: Pick<ContainerPlan, 'networkOf' | 'extraHosts' | 'loopbackNames'>,
  hasNetwork: boolean,
) {
  if (networkOf !== undefined) return { NetworkMode: `container:${networkOf}` };
  if (hasNetwork) return { ExtraHosts: [...extraHosts] };
  const own = loopbackNames.map((name) => `${name}:127.0.0.1`);
  return { NetworkMode: 'none', ...(own.length > 0 && { ExtraHosts: own }) };
}
