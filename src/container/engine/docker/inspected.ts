/** The container of which an engine tells: Docker 20.10, its successors and podman say the same of the same. */
import type Docker from 'dockerode';
import {
  engineProfile,
  type ContainerInfo,
  type ContainerMount,
  type ContainerRights,
} from '../container-info';
import { profileName } from '../seccomp';

type List = readonly string[] | null;

/** Engines leave out what is empty, or give null for it. Source: Docker Engine API 1.40 to 1.56, ContainerInspect. */
type Sparse<T> = { readonly [Key in keyof T]?: T[Key] | null };

/** As dockerode has it, with types for what dockerode leaves open. */
type HostConfig = Sparse<
  Omit<Docker.HostConfig, 'CapAdd' | 'CapDrop' | 'Devices' | 'PortBindings' | 'SecurityOpt'> & {
    CapAdd: List;
    CapDrop: List;
    CgroupnsMode: string;
    Devices: readonly unknown[];
    PortBindings: Readonly<Record<string, Docker.PortBinding[] | null>>;
    SecurityOpt: List;
  }
>;

type Inspected = Docker.ContainerInspectInfo;

interface Answer extends Pick<Inspected, 'Id' | 'Name' | 'Image' | 'State'> {
  readonly Config: Sparse<Inspected['Config']>;
  readonly HostConfig: HostConfig;
  readonly Mounts?: Inspected['Mounts'] | null;
  readonly NetworkSettings: Sparse<Inspected['NetworkSettings']>;
}

/**
 * The container of which that is the answer. `capabilities` is what podman tells beside it, where added and
 * dropped ones depend on its own default.
 */
export function containerInfoOf(answer: unknown, capabilities?: readonly string[]): ContainerInfo {
  const { Id, Name, Image, State, Config, HostConfig, NetworkSettings, Mounts } = answer as Answer;
  const startedAt = Date.parse(State.StartedAt);
  return {
    id: Id,
    name: Name.replace(/^\//, ''),
    state: State.Status,
    isRunning: State.Running,
    exitCode: State.ExitCode,
    isOomKilled: State.OOMKilled,
    // The year 1 stands for never.
    startedAt: startedAt > 0 ? startedAt : undefined,
    labels: Config.Labels ?? {},
    env: Config.Env ?? [],
    hostname: Config.Hostname ?? '',
    user: Config.User ?? '',
    imageId: Image,
    pid: State.Pid,
    mounts: mountsOf(Mounts ?? [], HostConfig),
    rights: rightsOf(HostConfig, Object.keys(NetworkSettings.Networks ?? {}), capabilities),
  };
}

function mountsOf(points: Inspected['Mounts'], hostConfig: HostConfig): ContainerMount[] {
  const mounts = points.map(({ Type, Name, Source, Destination, RW }) => ({
    type: Type,
    source: Type === 'bind' ? hostPathOf(Source, Destination, hostConfig) : (Name ?? Source),
    target: Destination,
    isReadOnly: !RW,
  }));
  // Those that were asked for apart from other mounts are not told among them, on podman none are.
  const tmpfs = Object.entries(hostConfig.Tmpfs ?? {})
    .filter(([target]) => !mounts.some((mount) => mount.target === target))
    .map(([target, options]) => ({
      type: 'tmpfs',
      source: '',
      target,
      isReadOnly: options.split(',').includes('ro'),
    }));
  return [...mounts, ...tmpfs].sort((a, b) => (a.target < b.target ? -1 : 1));
}

/** Docker Desktop tells where its virtual machine has the folder: below /host_mnt. */
function hostPathOf(source: string, target: string, { Mounts }: HostConfig): string {
  const wanted = Mounts?.find(({ Target }) => Target === target)?.Source;
  return wanted !== undefined && source === `/host_mnt${wanted}` ? wanted : source;
}

/** `capabilities` and `networks` are those that the container really has; podman alone tells the former. */
function rightsOf(config: HostConfig, networks: readonly string[], capabilities?: List): ContainerRights {
  const { CapAdd, CapDrop, Devices, DeviceCgroupRules, DeviceRequests, GroupAdd } = config;
  const { PidMode, IpcMode, UTSMode, UsernsMode, NetworkMode, CgroupnsMode } = config;
  const ports = Object.values(config.PortBindings ?? {}).flatMap((bindings) => bindings ?? []);
  const names = [NetworkMode ?? '', ...networks];
  const hostIps = ports.map(({ HostIp = '' }) => (HostIp === '' ? '0.0.0.0' : HostIp));
  return {
    capabilities: capabilityNames(capabilities ?? CapAdd),
    isConfined:
      // What podman tells of its capabilities is the sum.
      (capabilities !== undefined || capabilityNames(CapDrop).includes('ALL')) &&
      securityOf(config).join() === 'no-new-privileges' &&
      config.Privileged !== true &&
      [Devices, DeviceCgroupRules, DeviceRequests, GroupAdd].every((each) => (each ?? []).length === 0) &&
      [PidMode, IpcMode, UTSMode, UsernsMode].every((mode) => modeOf(mode) === 'private') &&
      names.every((name) => standardNetwork.test(name)),
    hasNetwork: names.some((name) => name !== 'none'),
    seccomp: seccompOf(config),
    cgroups: modeOf(CgroupnsMode),
    memoryBytes: config.Memory ?? 0,
    pids: Math.max(config.PidsLimit ?? 0, 0),
    publishedOn: [...new Set(config.PublishAllPorts === true ? ['0.0.0.0', ...hostIps] : hostIps)],
  };
}

function capabilityNames(names: List | undefined): string[] {
  return (names ?? []).map((name) => name.replace(/^CAP_/, '')).sort();
}

/** `private` is whatever is standard on that engine. podman 4.3 says it of the host's IPC, too. */
function modeOf(mode: string | null | undefined): string {
  return ['', 'shareable', 'none'].includes(mode ?? '') ? 'private' : mode!;
}

/** On podman it has another name, and without root it is a program that relays. */
const standardNetwork = /^(?:|none|bridge|default|podman|slirp4netns(?::.*)?|pasta(?::.*)?)$/;

/** Without the one for system calls: `systempaths=unconfined` is the engine's word for open paths in /proc. */
function securityOf({ SecurityOpt, MaskedPaths }: HostConfig): string[] {
  const options = (SecurityOpt ?? [])
    .filter((option) => !isSeccomp.test(option))
    .map((option) => (/^no-new-privileges[:=]true$/.test(option) ? 'no-new-privileges' : option));
  // An engine that tells nothing of them (null, on podman) masks its standard ones.
  return MaskedPaths?.length === 0 ? [...options, 'systempaths=unconfined'] : options;
}

/** The profile of system calls, as `profileName` has it. Of several the last is in force. */
function seccompOf({ SecurityOpt }: HostConfig): string {
  const option = (SecurityOpt ?? []).filter((each) => isSeccomp.test(each)).at(-1);
  return option === undefined ? engineProfile : profileName(option.replace(isSeccomp, ''));
}

const isSeccomp = /^seccomp[:=]/;
