import { createHash } from 'node:crypto';
import { containerInfoOf } from '../../../../src/container/engine/docker/inspected';

/*
 * Two engines on one request. Observed: Docker 20.10.24 and podman 4.3.1, shortened to what is read.
 */
const request = { labels: { a: 'b' }, user: '4321:4321' };
const docker = {
  Id: '68de',
  Name: '/x',
  Image: 'sha256:c9ff',
  State: { Status: 'exited', Running: false, Pid: 0, ExitCode: 137, OOMKilled: true, StartedAt: '2026-11-21T10:17:45.6227551Z' },
  Config: {
    Hostname: 'box',
    User: request.user,
    Env: ['A=b', 'PATH=/bin'],
    Labels: request.labels,
  },
  HostConfig: {
    NetworkMode: 'default',
    PortBindings: { '2222/tcp': [{ HostIp: '127.0.0.1', HostPort: '' }] },
    CapAdd: ['SYS_CHROOT', 'SETGID', 'SETUID'],
    CapDrop: ['ALL'],
    GroupAdd: null,
    IpcMode: 'private',
    PidMode: '',
    Privileged: false,
    PublishAllPorts: false,
    SecurityOpt: ['no-new-privileges'],
    UTSMode: '',
    UsernsMode: '',
    Memory: 536870912,
    Devices: null,
    DeviceCgroupRules: null,
    DeviceRequests: null,
    PidsLimit: 256,
    Mounts: [
      { Type: 'bind', Source: '/ws', Target: '/ws' },
      { Type: 'volume', Source: 'data', Target: '/data' },
    ],
    MaskedPaths: ['/proc/acpi', '/sys/firmware'],
  },
  Mounts: [
    { Type: 'volume', Name: 'data', Source: '/var/lib/docker/volumes/data/_data', Destination: '/data', Driver: 'local', Mode: 'z', RW: true, Propagation: '' },
    { Type: 'bind', Source: '/ws', Destination: '/ws', Mode: '', RW: false, Propagation: 'rprivate' },
  ],
  NetworkSettings: { Ports: {}, Networks: { bridge: {} } },
}; // prettier-ignore
const podman = {
  ...docker,
  HostConfig: {
    ...docker.HostConfig,
    NetworkMode: 'bridge',
    PortBindings: { '2222/tcp': [{ HostIp: '127.0.0.1', HostPort: '41671' }] },
    CapAdd: [],
    CapDrop: [
      ...['AUDIT_WRITE', 'CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'MKNOD'],
      ...['NET_RAW', 'SETFCAP'],
    ],
    GroupAdd: [],
    IpcMode: 'shareable',
    PidMode: 'private',
    UTSMode: 'private',
    Devices: [],
    Mounts: undefined,
    MaskedPaths: null,
  },
  NetworkSettings: {
    Ports: { '2222/tcp': [{ HostIp: '127.0.0.1', HostPort: '41671' }] },
    Networks: { podman: {} },
  },
};
const podmanBounds = ['CAP_SETGID', 'CAP_SETUID', 'CAP_SYS_CHROOT'];

const expected = {
  id: '68de',
  name: 'x',
  state: 'exited',
  isRunning: false,
  exitCode: 137,
  isOomKilled: true,
  startedAt: Date.UTC(2026, 10, 21, 10, 17, 45, 622),
  labels: request.labels,
  env: ['A=b', 'PATH=/bin'],
  hostname: 'box',
  user: request.user,
  imageId: 'sha256:c9ff',
  pid: 0,
  mounts: [
    { type: 'volume', source: 'data', target: '/data', isReadOnly: false },
    { type: 'bind', source: '/ws', target: '/ws', isReadOnly: true },
  ],
  rights: {
    capabilities: ['SETGID', 'SETUID', 'SYS_CHROOT'],
    isConfined: true,
    hasNetwork: true,
    seccomp: 'default',
    cgroups: 'private',
    memoryBytes: 536870912,
    pids: 256,
    publishedOn: ['127.0.0.1'],
  },
};

describe('containerInfoOf', () => {
  test('says the same of the same on Docker and podman', () => {
    expect(containerInfoOf(docker)).toEqual(expected);
    expect(containerInfoOf(podman, podmanBounds)).toEqual(expected);
  });

  test('reads what Docker from API 1.52 on leaves out or writes otherwise', () => {
    // Written from the history of the API's versions; podman 5 without root has another network.
    const newer = {
      ...docker,
      Config: { Hostname: 'box', User: request.user, Env: ['A=b', 'PATH=/bin'], Labels: request.labels },
      HostConfig: {
        ...docker.HostConfig,
        NetworkMode: 'bridge',
        CapAdd: ['CAP_SETGID', 'CAP_SETUID', 'CAP_SYS_CHROOT'],
        SecurityOpt: ['no-new-privileges=true'],
      },
    }; // prettier-ignore
    const rootless = { ...podman, HostConfig: { ...podman.HostConfig, NetworkMode: 'pasta' }, NetworkSettings: { Ports: {}, Networks: null } }; // prettier-ignore

    expect(containerInfoOf(newer)).toEqual(expected);
    expect(containerInfoOf(rootless, podmanBounds)).toEqual(expected);
  });

  test('tells no start of one that has had none', () => {
    const State = { ...docker.State, Running: true, StartedAt: '0001-01-01T00:00:00Z' };

    expect(containerInfoOf({ ...docker, State })).toMatchObject({ isRunning: true, startedAt: undefined });
  });

  test.each([
    ['none', { none: {} }, false],
    ['none', {}, false],
    ['none', { none: {}, bridge: {} }, true],
    ['bridge', {}, true],
    ['', {}, true],
  ])('knows whether there is a network: %j with %j has one: %s', (NetworkMode, Networks, hasNetwork) => {
    const HostConfig = { ...docker.HostConfig, NetworkMode };
    const { rights } = containerInfoOf({ ...docker, HostConfig, NetworkSettings: { Networks } });

    expect(rights).toMatchObject({ hasNetwork, isConfined: true });
  });

  test('knows a network besides the standard one for what it is', () => {
    const joined = { ...docker, NetworkSettings: { Networks: { bridge: {}, other: {} } } };

    expect(containerInfoOf(joined).rights.isConfined).toBe(false);
  });

  test('shows what is mounted beside folders and volumes', () => {
    const odd = {
      ...docker,
      HostConfig: { ...docker.HostConfig, Tmpfs: { '/run/cai': 'rw', '/t': 'size=1m,ro' } },
      Mounts: [
        { Type: 'tmpfs', Source: '', Destination: '/t', RW: true },
        { Type: 'image', Name: 'x:1', Source: '/some/where', Destination: '/image', RW: false },
      ],
    };

    expect(containerInfoOf(odd).mounts).toEqual([
      { type: 'image', source: 'x:1', target: '/image', isReadOnly: true },
      { type: 'tmpfs', source: '', target: '/run/cai', isReadOnly: false },
      { type: 'tmpfs', source: '', target: '/t', isReadOnly: false },
    ]);
  });

  test('knows the prefix of Docker Desktop, for folders that were asked for only', () => {
    const mount = (Source: string, Destination: string) => ({ Type: 'bind', Source, Destination, RW: true });
    const desktop = { ...docker, Mounts: [mount('/host_mnt/ws', '/ws'), mount('/host_mnt/ws', '/other')] };

    expect(containerInfoOf(desktop).mounts.map(({ source }) => source)).toEqual(['/host_mnt/ws', '/ws']);
  });
});

describe('the security options', () => {
  test.each([
    [['no-new-privileges'], undefined, true],
    [['no-new-privileges=true', 'seccomp={}'], null, true],
    [['no-new-privileges:true', 'label=disable'], ['/proc/kcore'], false],
    [['no-new-privileges'], [], false],
    [null, ['/proc/kcore'], false],
  ])('%j with the masked paths %j confine a container: %s', (SecurityOpt, MaskedPaths, isConfined) => {
    expect(rightsWith({ SecurityOpt, MaskedPaths })).toMatchObject({ isConfined });
  });

  const text = '{"defaultAction":"SCMP_ACT_ERRNO"}';
  const hash = `sha256:${createHash('sha256').update(text).digest('hex')}`;

  test.each([
    [null, 'default'],
    [['no-new-privileges'], 'default'],
    [['seccomp=unconfined'], 'unconfined'],
    [['seccomp:unconfined'], 'unconfined'],
    [['seccomp=/home/u/seccomp.json'], '/home/u/seccomp.json'],
    [[`seccomp=${text}`], hash],
    [[`seccomp=${text}`, 'seccomp=unconfined'], 'unconfined'],
  ])('in %j name the profile of system calls', (SecurityOpt, seccomp) => {
    expect(rightsWith({ SecurityOpt })).toMatchObject({ seccomp });
  });
});

function rightsWith(hostConfig: object): unknown {
  return containerInfoOf({ ...docker, HostConfig: { ...docker.HostConfig, ...hostConfig } }).rights;
}
