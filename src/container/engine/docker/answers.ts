/** What Docker's API and podman's answer, in our own words. */
import { release } from 'node:os';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { extract } from 'tar-stream';
import type { ContainerProcess } from '../container-processes';
import type { Labels } from '../engine';
import type { EngineAbout, ImageInfo, InnerFile, VirtualMachine } from '../engine-info';
import { profileFor, profileName } from '../seccomp';

/** What an engine says to a greeting. */
export interface Greeting {
  /** API version that is spoken with it: `1.41`. */
  readonly apiVersion: string;
  readonly isPodman: boolean;
}

interface SystemInfo {
  readonly Name?: string;
  readonly OperatingSystem?: string;
  readonly ServerVersion: string;
  readonly MemTotal: number;
  readonly NCPU: number;
  readonly OSType: string;
  readonly KernelVersion: string;
  readonly SecurityOptions?: readonly string[] | null;
  readonly MemoryLimit: boolean;
  readonly PidsLimit: boolean;
  readonly CpuCfsQuota: boolean;
  readonly Driver?: string;
  readonly DriverStatus?: readonly (readonly [name: string, value: string])[] | null;
}

/** `cgroupControllers` is empty without root on version 1 of cgroups. Source: libpod API, system info. */
interface PodmanInfo {
  readonly host?: {
    readonly security?: { readonly rootless?: boolean; readonly selinuxEnabled?: boolean };
    readonly cgroupControllers?: readonly string[] | null;
  };
}

/**
 * From the answer of SystemInfo, and on podman from podman's API, which knows more. `state`: our folder, in which
 * podman finds our profile of system calls; `isElsewhere`: the engine is on another machine.
 */
export function aboutOf(
  answer: unknown,
  greeting: Greeting,
  { state, isElsewhere = false }: { readonly state: string; readonly isElsewhere?: boolean | undefined },
  podman?: unknown,
): EngineAbout {
  const info = answer as SystemInfo;
  const { host } = (podman ?? {}) as PodmanInfo;
  const { isPodman, apiVersion } = greeting;
  const isRootlessPodman = host?.security?.rootless === true;
  // Without root podman's answer to Docker's question knows nothing of what it cannot hold.
  const controllers = isRootlessPodman ? (host.cgroupControllers ?? []) : ['memory', 'pids', 'cpu'];
  // One of several in a text: `name=seccomp,profile=default`.
  const security = (info.SecurityOptions ?? []).flatMap((option) => option.split(','));
  const isRootless = isRootlessPodman || security.includes('name=rootless');
  // Two machines can have the same version of a kernel.
  const sharesKernel = !isElsewhere && info.KernelVersion === release();
  const hasSeccomp = security.includes('name=seccomp');
  const { seccomp, lacking } = profileFor({ isPodman, hasSeccomp, sharesKernel }, state);
  const virtualMachine = isElsewhere ? undefined : virtualMachineOf(info);
  const product = `${isPodman ? 'podman' : 'Docker'} ${info.ServerVersion}`;
  return {
    name: `${product}, API ${apiVersion}${isRootless ? ', rootless' : ''}`,
    isRootless,
    memoryBytes: info.MemTotal,
    cpus: info.NCPU,
    osType: info.OSType,
    sharesKernel,
    // The image is there.
    startMs: 30_000,
    storage: storageOf(info),
    ...((security.includes('name=selinux') || host?.security?.selinuxEnabled === true) && {
      isLabelled: true,
    }),
    ...(virtualMachine && { virtualMachine }),
    ...(isElsewhere && { machine: info.Name ?? 'elsewhere' }),
    seccomp: profileName(seccomp),
    seccompNotice: lacking,
    can: {
      // Without root on version 1 of cgroups it is known that it cannot limit anything.
      memory: info.MemoryLimit && controllers.includes('memory'),
      pids: info.PidsLimit && controllers.includes('pids'),
      cpus: info.CpuCfsQuota && controllers.includes('cpu'),
      systemCalls: lacking === undefined,
      restart: true,
      build: true,
    },
  };
}

function storageOf({ Driver = 'unknown storage', DriverStatus }: SystemInfo): string {
  const below = DriverStatus?.find(([name]) => name === 'Backing Filesystem')?.[1];
  return below === undefined ? Driver : `${Driver} on ${below}`;
}

export function imageInfoOf(answer: unknown): ImageInfo {
  const { Id, RepoTags, Config, Architecture } = answer as {
    readonly Id: string;
    readonly Architecture?: string;
    readonly RepoTags?: readonly string[] | null;
    readonly Config?: {
      readonly Labels?: Readonly<Record<string, string>> | null;
      readonly Env?: readonly string[] | null;
      readonly User?: string | null;
      readonly Entrypoint?: readonly string[] | null;
      readonly Cmd?: readonly string[] | null;
      readonly StopSignal?: string | null;
      readonly ExposedPorts?: Readonly<Record<string, unknown>> | null;
    } | null;
  };
  const [user] = Config?.User?.split(':') ?? [];
  // Docker adds the protocol where the Dockerfile has none.
  const ports = Object.keys(Config?.ExposedPorts ?? {}).flatMap(
    (each) => /^(\d+)\/tcp$/.exec(each)?.[1] ?? [],
  );
  return {
    id: Id,
    tags: RepoTags ?? [],
    labels: Config?.Labels ?? {},
    env: Config?.Env ?? [],
    ...(user && { user }),
    ...(Config?.Entrypoint && { entrypoint: Config.Entrypoint }),
    ...(Config?.Cmd && { command: Config.Cmd }),
    ...(Config?.StopSignal && { stopSignal: Config.StopSignal }),
    ...(ports.length > 0 && { ports: ports.map(Number) }),
    ...(Architecture !== undefined && { architecture: Architecture }),
  };
}

/** Labels in a list, which may be missing. */
export function labelsIn(labels: Labels | null | undefined): Labels {
  return labels ?? {};
}

/** The columns that are asked for, and read below. */
export const processColumns = 'pid,ppid,args';

/** The processes in the answer of ContainerTop. Source: Docker Engine API, ContainerTop. */
export function processesOf(answer: unknown): ContainerProcess[] {
  const { Processes } = (answer ?? {}) as { readonly Processes?: readonly (readonly string[])[] | null };
  return (Processes ?? []).map(([pid, parent, command = '']) => ({
    pid: Number(pid),
    parent: Number(parent),
    command,
  }));
}

/** What is larger is nothing that we would read. */
const mostBytes = 16 * 2 ** 20;

/** The first entry of a tar archive, of which no more is read; `undefined` if that is no ordinary file, or a huge one. */
export async function fileIn(tar: Readable): Promise<InnerFile | undefined> {
  const archive = extract();
  tar.once('error', (reason) => archive.destroy(reason)).pipe(archive);
  try {
    for await (const entry of archive) {
      const { type, size, mode, uid, gid } = entry.header;
      if (type !== 'file' || size > mostBytes) return undefined;
      return { content: await buffer(entry), mode: mode & 0o777, uid, gid };
    }
    return undefined;
  } finally {
    tar.destroy();
  }
}

/** The text in frames of standard output and error, each with its length in its header. Source: ContainerAttach. */
export function textOfFrames(frames: Buffer): string {
  const parts: Buffer[] = [];
  for (let start = 0; start + 8 <= frames.length;) {
    const content = start + 8;
    start = content + frames.readUInt32BE(start + 4);
    parts.push(frames.subarray(content, start));
  }
  return Buffer.concat(parts).toString();
}

/** Two say so as the system of their engine; Colima's machine has its name, with that of a profile behind it. */
function virtualMachineOf({ OperatingSystem: system, Name: name }: SystemInfo): VirtualMachine | undefined {
  if (system === 'Docker Desktop' || system === 'OrbStack') return system;
  return /^colima(-|$)/.test(name ?? '') ? 'Colima' : undefined;
}
