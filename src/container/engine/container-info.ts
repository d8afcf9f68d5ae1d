/** A container in our own words, in which Docker 20.10, its successors and podman say the same of the same. */
import { engineProfile, profileName } from './seccomp';

/** What an engine tells of a container. */
export interface ContainerInfo {
  /** The engine's id: 64 hex digits. */
  readonly id: string;
  /** Its name, without a slash. */
  readonly name: string;
  /** `created`, `running`, `paused`, `restarting`, `removing`, `exited` or `dead`; podman has more. */
  readonly state: string;
  /** Whether its first process is there; a paused container runs as well. */
  readonly isRunning: boolean;
  /** Of the first process; 0 as long as it has not ended. */
  readonly exitCode: number;
  /** Whether the kernel ended something in it for want of memory. */
  readonly isOomKilled: boolean;
  /** When it was started last, in milliseconds since 1970; `undefined`: never. */
  readonly startedAt: number | undefined;
  /** Its labels, those of the image included. */
  readonly labels: Readonly<Record<string, string>>;
  /** Environment of its first process: the image's and the container's, `NAME=value`; podman adds some. */
  readonly env: readonly string[];
  /** Its host name. */
  readonly hostname: string;
  /** As it was asked for: `uid:gid`; empty: the image's. */
  readonly user: string;
  /** Id of its image, `sha256:` and 64 hex digits. */
  readonly imageId: string;
  /** Port of 127.0.0.1 on this machine that leads to its port 2222; `undefined`: none now. */
  readonly hostPort: number | undefined;
  /** What is mounted in it, by `target`. */
  readonly mounts: readonly ContainerMount[];
  /** What it may do and use. */
  readonly rights: ContainerRights;
}

/** Something mounted in a container. */
export interface ContainerMount {
  /** `bind`, `volume`, `tmpfs`, or what else the engine knows. */
  readonly type: string;
  /** Of `bind` the path on the engine's machine, of `volume` its name, else what the engine tells. */
  readonly source: string;
  /** Absolute path inside. */
  readonly target: string;
  /** Whether nothing can be written there. */
  readonly isReadOnly: boolean;
}

/** What a container may do and use. Lists are sorted; a limit of 0 is none. */
export interface ContainerRights {
  /** Capabilities beyond the rest, without `CAP_`. */
  readonly capAdd: readonly string[];
  /** Capabilities taken from the engine's default ones, without `CAP_`; on podman `ALL`, and `capAdd` is the sum. */
  readonly capDrop: readonly string[];
  /** `no-new-privileges` in that form; others as asked for; `systempaths=unconfined` for open ones in /proc. */
  readonly securityOpt: readonly string[];
  /** The profile of system calls: `default`, `unconfined`, the hash or the path of another. */
  readonly seccomp: string;
  /** Whether it has all rights of root. */
  readonly isPrivileged: boolean;
  /** Devices, rules and requests for devices. */
  readonly devices: readonly string[];
  /** Groups of the user beside the first. */
  readonly groups: readonly string[];
  /** `private`, `host` or `container:ID`. */
  readonly pidMode: string;
  /** `private`, `host` or `container:ID`. podman 4.3 says `private` of the host's, too. */
  readonly ipcMode: string;
  /** `private` or `host`; `private` is whatever is standard on that engine. */
  readonly cgroupMode: string;
  /** `private` or `host`. */
  readonly utsMode: string;
  /** `private` or `host`; `private` is whatever is standard on that engine. */
  readonly usernsMode: string;
  /** `bridge` for the engine's standard network, `host`, `none`, `container:ID`, or name of a network. */
  readonly networkMode: string;
  /** Networks beside the standard one. */
  readonly networks: readonly string[];
  /** Most processes and threads. podman has 2048 where nothing was asked for. */
  readonly pidsLimit: number;
  /** Most memory, in bytes. */
  readonly memoryBytes: number;
  /** Ports to publish and on which address of this machine; `*` for all that the image names. */
  readonly ports: readonly { readonly port: string; readonly hostIp: string }[];
}

/** The answer of ContainerInspect, as far as it matters. Source: Docker Engine API 1.40 to 1.56. */
interface Answer {
  readonly Id: string;
  readonly Name: string;
  readonly Image: string;
  readonly State: {
    readonly Status: string;
    readonly Running: boolean;
    readonly ExitCode: number;
    readonly OOMKilled: boolean;
    readonly StartedAt: string;
  };
  readonly Config: {
    readonly Hostname?: string;
    readonly User?: string;
    readonly Env?: List;
    readonly Labels?: Readonly<Record<string, string>> | null;
  };
  readonly HostConfig: HostConfig;
  readonly Mounts?: readonly MountPoint[] | null;
  readonly NetworkSettings: {
    readonly Ports?: PortMap;
    readonly Networks?: Readonly<Record<string, unknown>> | null;
  };
}

type List = readonly string[] | null;
type PortMap = Readonly<Record<string, readonly Binding[] | null>> | null;

interface Binding {
  readonly HostIp?: string;
  readonly HostPort?: string;
}

interface MountPoint {
  readonly Type: string;
  readonly Name?: string;
  readonly Source?: string;
  readonly Destination: string;
  readonly RW: boolean;
}

interface HostConfig {
  readonly CapAdd?: List;
  readonly CapDrop?: List;
  readonly SecurityOpt?: List;
  readonly MaskedPaths?: List;
  readonly Privileged?: boolean;
  readonly Devices?: readonly { readonly PathOnHost?: string; readonly PathInContainer?: string }[] | null;
  readonly DeviceCgroupRules?: List;
  readonly DeviceRequests?: readonly unknown[] | null;
  readonly GroupAdd?: List;
  readonly PidMode?: string;
  readonly IpcMode?: string;
  readonly CgroupnsMode?: string;
  readonly UTSMode?: string;
  readonly UsernsMode?: string;
  readonly NetworkMode?: string;
  readonly PidsLimit?: number | null;
  readonly Memory?: number;
  readonly PortBindings?: PortMap;
  readonly PublishAllPorts?: boolean;
  readonly Mounts?: readonly { readonly Source?: string; readonly Target?: string }[] | null;
  readonly Tmpfs?: Readonly<Record<string, string>> | null;
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
    hostPort: State.Running ? sshPortOf(NetworkSettings.Ports) : undefined,
    mounts: mountsOf(Mounts ?? [], HostConfig),
    rights: rightsOf(HostConfig, Object.keys(NetworkSettings.Networks ?? {}), capabilities),
  };
}

function sshPortOf(ports: PortMap | undefined): number | undefined {
  const binding = ports?.['2222/tcp']?.find(({ HostIp }) => HostIp === '127.0.0.1');
  return binding === undefined ? undefined : Number(binding.HostPort);
}

function mountsOf(points: readonly MountPoint[], hostConfig: HostConfig): ContainerMount[] {
  const mounts = points.map(({ Type, Name, Source = '', Destination, RW }) => ({
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

function rightsOf(
  config: HostConfig,
  networks: readonly string[],
  capabilities: readonly string[] | undefined,
): ContainerRights {
  return {
    capAdd: capabilityNames(capabilities ?? config.CapAdd),
    capDrop: capabilities === undefined ? capabilityNames(config.CapDrop) : ['ALL'],
    securityOpt: securityOf(config),
    seccomp: seccompOf(config),
    isPrivileged: config.Privileged === true,
    devices: sorted([
      ...(config.Devices ?? []).map(({ PathOnHost, PathInContainer }) => `${PathOnHost}:${PathInContainer}`),
      ...(config.DeviceCgroupRules ?? []),
      ...(config.DeviceRequests ?? []).map((request) => JSON.stringify(request)),
    ]),
    groups: sorted(config.GroupAdd),
    pidMode: modeOf(config.PidMode),
    ipcMode: modeOf(config.IpcMode),
    cgroupMode: modeOf(config.CgroupnsMode),
    utsMode: modeOf(config.UTSMode),
    usernsMode: modeOf(config.UsernsMode),
    networkMode: networkOf(config.NetworkMode),
    networks: sorted(networks.filter((name) => networkOf(name) !== 'bridge' && name !== config.NetworkMode)),
    pidsLimit: Math.max(config.PidsLimit ?? 0, 0),
    memoryBytes: config.Memory ?? 0,
    ports: portsOf(config),
  };
}

function capabilityNames(names: List | undefined): string[] {
  return sorted((names ?? []).map((name) => name.replace(/^CAP_/, '')));
}

function modeOf(mode: string | undefined): string {
  return mode === undefined || ['', 'shareable', 'none'].includes(mode) ? 'private' : mode;
}

/** The standard network is `podman` there, and without root a program that relays. */
function networkOf(mode: string | undefined): string {
  return mode === undefined || /^(?:|default|podman|slirp4netns(?::.*)?|pasta(?::.*)?)$/.test(mode)
    ? 'bridge'
    : mode;
}

/** Without their numbers: podman writes down the one that it found free. */
function portsOf({ PortBindings, PublishAllPorts }: HostConfig): ContainerRights['ports'] {
  const ports = Object.entries(PortBindings ?? {}).flatMap(([port, bindings]) =>
    (bindings ?? []).map(({ HostIp }) => ({
      port,
      hostIp: HostIp === undefined || HostIp === '' ? '0.0.0.0' : HostIp,
    })),
  );
  const all = PublishAllPorts === true ? [{ port: '*', hostIp: '0.0.0.0' }] : [];
  return [...ports, ...all].sort((a, b) => (a.port + a.hostIp < b.port + b.hostIp ? -1 : 1));
}

function sorted(values: List | undefined): string[] {
  return [...(values ?? [])].sort();
}

/**
 * Sorted, without the one for system calls: `no-new-privileges` in that form, `systempaths=unconfined` for open
 * ones in /proc, others as asked for.
 */
export function securityOf({ SecurityOpt, MaskedPaths }: HostConfig): string[] {
  const options = (SecurityOpt ?? [])
    .filter((option) => !isSeccomp.test(option))
    .map((option) => (/^no-new-privileges[:=]true$/.test(option) ? 'no-new-privileges' : option));
  // An engine that tells nothing of them (null, on podman) masks its standard ones.
  return (MaskedPaths?.length === 0 ? [...options, 'systempaths=unconfined'] : options).sort();
}

/** The profile of system calls, as `profileName` has it. Of several the last is in force. */
export function seccompOf({ SecurityOpt }: HostConfig): string {
  const option = (SecurityOpt ?? []).filter((each) => isSeccomp.test(each)).at(-1);
  return option === undefined ? engineProfile : profileName(option.replace(isSeccomp, ''));
}

const isSeccomp = /^seccomp[:=]/;
