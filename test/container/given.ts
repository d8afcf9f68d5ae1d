import type { ContainerInfo } from '../../src/container/engine/container-info';
import { createBody } from '../../src/container/engine/docker/create-body';
import { containerInfoOf } from '../../src/container/engine/docker/inspected';
import { profileName, seccompProfile } from '../../src/container/engine/seccomp';
import { planOf } from '../../src/container/spec/plan';
import type { Circumstances, Settings } from '../../src/container/spec/spec';

/** Settings of an ordinary container, with changes. */
export function settings(changes: Partial<Settings> = {}): Settings {
  return {
    agent: 'claude',
    workspace: '/home/u/app',
    workingFolder: '/home/u/app',
    isCopied: false,
    hostUser: { uid: 1000, gid: 1000 },
    binds: [
      { source: '/home/u/app', target: '/home/u/app', isReadOnly: false, isRoot: true, identity: '1:2' },
    ],
    protection: [],
    notices: [],
    data: 'shared',
    pids: 1024,
    own: [],
    idleMs: 1_800_000,
    extraHosts: [],
    hasNetwork: false,
    certificates: undefined,
    authority: undefined,
    authorizedKey: 'ssh-ed25519 AAAA',
    filesHash: 'files',
    ...changes,
  };
}

export const circumstances: Circumstances = {
  image: 'sha256:image',
  user: { uid: 1000, gid: 1000 },
  engine: {
    memoryBytes: 8 * 2 ** 30,
    cpus: 4,
    can: { memory: true, pids: true, cpus: true, systemCalls: true, restart: true, build: true },
    seccomp: profileName(seccompProfile()),
  },
};

/** What an engine tells of the container that was made from those, with changes. */
export function containerInfo(changes: Partial<ContainerInfo> = {}, hostConfig: object = {}): ContainerInfo {
  const { Labels, HostConfig, User, Image } = createBody(planOf(settings(), circumstances, 'SHA256:key'));
  const answer = {
    Id: 'f'.repeat(64),
    Name: '/cai-x',
    Image,
    State: { Status: 'running', Running: true, ExitCode: 0, OOMKilled: false, StartedAt: '1970-01-01T00:00:01Z' },
    Config: { Hostname: 'ffffffffffff', User, Labels },
    HostConfig: { ...HostConfig, ...hostConfig },
    Mounts: HostConfig.Mounts.map(({ Type, Source, Target, ReadOnly }) => ({ Type, [Type === 'bind' ? 'Source' : 'Name']: Source, Destination: Target, RW: !ReadOnly })),
    NetworkSettings: {},
  }; // prettier-ignore
  return { ...containerInfoOf(answer), ...changes };
}
