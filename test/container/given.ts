import type { ContainerInfo } from '../../src/container/engine/container-info';
import { createRequest } from '../../src/container/spec/create-request';
import { seccompOf, securityOf } from '../../src/container/engine/container-info';
import type { Circumstances, Settings } from '../../src/container/spec/spec';

/** Settings of an ordinary container, with changes. */
export function settings(changes: Partial<Settings> = {}): Settings {
  return {
    agent: 'claude',
    workspace: '/home/u/app',
    workingFolder: '/home/u/app',
    hostUser: { uid: 1000, gid: 1000 },
    binds: [
      { source: '/home/u/app', target: '/home/u/app', isReadOnly: false, isRoot: true, identity: '1:2' },
    ],
    protection: [],
    notices: [],
    data: 'shared',
    memoryBytes: undefined,
    memoryAtMostBytes: undefined,
    cpus: undefined,
    diskBytes: undefined,
    pids: 1024,
    idleMs: 1_800_000,
    extraHosts: [],
    certificates: undefined,
    authorizedKey: 'ssh-ed25519 AAAA',
    filesHash: 'files',
    ...changes,
  };
}

export const circumstances: Circumstances = {
  image: 'sha256:image',
  user: { uid: 1000, gid: 1000 },
  engineMemoryBytes: 8 * 2 ** 30,
  engineCpus: 4,
  limits: { memory: true, pids: true, cpus: true },
  seccomp: '{"defaultAction":"SCMP_ACT_ERRNO"}',
};

/** What an engine tells of the container that was made from those, with changes. */
export function containerInfo(changes: Partial<ContainerInfo> = {}): ContainerInfo {
  const { Labels, HostConfig, User, Image } = createRequest(settings(), circumstances, 'SHA256:key');
  return {
    id: 'f'.repeat(64),
    name: 'cai-x',
    state: 'running',
    isRunning: true,
    exitCode: 0,
    isOomKilled: false,
    startedAt: 0,
    labels: Labels,
    env: [],
    hostname: 'ffffffffffff',
    user: User,
    imageId: Image,
    hostPort: 40_000,
    mounts: HostConfig.Mounts.map(({ Type, Source, Target, ReadOnly }) => ({
      type: Type,
      source: Source,
      target: Target,
      isReadOnly: ReadOnly,
    })),
    rights: {
      capAdd: HostConfig.CapAdd,
      capDrop: HostConfig.CapDrop,
      securityOpt: securityOf(HostConfig),
      seccomp: seccompOf(HostConfig),
      isPrivileged: false,
      devices: [],
      groups: [],
      pidMode: 'private',
      ipcMode: HostConfig.IpcMode,
      cgroupMode: HostConfig.CgroupnsMode,
      utsMode: 'private',
      usernsMode: 'private',
      networkMode: 'bridge',
      networks: [],
      pidsLimit: HostConfig.PidsLimit,
      memoryBytes: HostConfig.Memory,
      ports: [{ port: '2222/tcp', hostIp: '127.0.0.1' }],
    },
    ...changes,
  };
}
