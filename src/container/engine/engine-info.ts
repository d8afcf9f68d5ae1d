/** What an engine tells of itself and of what it has, but for a single container. */
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { extract } from 'tar-stream';

/** What an engine is. */
export interface EngineAbout {
  /** API version that is spoken with it: `1.41`. */
  readonly apiVersion: string;
  /** Its own version: `20.10.24`. */
  readonly serverVersion: string;
  /** Whether it is podman. */
  readonly isPodman: boolean;
  /** Whether it runs as an ordinary user, who is root in its containers. */
  readonly isRootless: boolean;
  /** Memory of its machine, which is a virtual one with Docker Desktop. */
  readonly memoryBytes: number;
  /** Processors of that machine. */
  readonly cpus: number;
  /** Release of the kernel that its containers run on. */
  readonly kernel: string;
  /** System of its containers: `linux`. */
  readonly osType: string;
  /** Which limits it can enforce. Docker ignores one of memory or processes that it cannot. */
  readonly limits: { readonly memory: boolean; readonly pids: boolean; readonly cpus: boolean };
  /** Whether it can filter system calls. */
  readonly hasSeccomp: boolean;
  /** False where it is known that it cannot pause containers: without root on version 1 of cgroups. */
  readonly canPause: boolean;
}

/** An image. */
export interface ImageInfo {
  /** `sha256:` and 64 hex digits. */
  readonly id: string;
  /** Names with tags; podman writes the registry in front. */
  readonly tags: readonly string[];
  /** Its labels. */
  readonly labels: Readonly<Record<string, string>>;
  /** `NAME=value`. */
  readonly env: readonly string[];
}

interface SystemInfo {
  readonly ServerVersion: string;
  readonly MemTotal: number;
  readonly NCPU: number;
  readonly OSType: string;
  readonly KernelVersion: string;
  readonly SecurityOptions?: readonly string[] | null;
  readonly MemoryLimit: boolean;
  readonly PidsLimit: boolean;
  readonly CpuCfsQuota: boolean;
  readonly CgroupVersion?: string;
}

/** `cgroupControllers` is empty without root on version 1 of cgroups. Source: libpod API, system info. */
interface PodmanInfo {
  readonly host?: {
    readonly security?: { readonly rootless?: boolean };
    readonly cgroupControllers?: readonly string[] | null;
  };
}

/** From the answer of SystemInfo, and on podman from that of its own API, which knows more. */
export function aboutOf(
  answer: unknown,
  greeting: Pick<EngineAbout, 'apiVersion' | 'isPodman'>,
  podman?: unknown,
): EngineAbout {
  const info = answer as SystemInfo;
  const { host } = (podman ?? {}) as PodmanInfo;
  const isRootlessPodman = host?.security?.rootless === true;
  // Without root podman's answer to Docker's question knows nothing of what it cannot hold.
  const controllers = isRootlessPodman ? (host.cgroupControllers ?? []) : ['memory', 'pids', 'cpu'];
  // One of several in a text: `name=seccomp,profile=default`.
  const security = (info.SecurityOptions ?? []).flatMap((option) => option.split(','));
  const isRootless = isRootlessPodman || security.includes('name=rootless');
  return {
    ...greeting,
    serverVersion: info.ServerVersion,
    isRootless,
    hasSeccomp: security.includes('name=seccomp'),
    canPause: !isRootless || info.CgroupVersion !== '1',
    memoryBytes: info.MemTotal,
    cpus: info.NCPU,
    kernel: info.KernelVersion,
    osType: info.OSType,
    limits: {
      memory: info.MemoryLimit && controllers.includes('memory'),
      pids: info.PidsLimit && controllers.includes('pids'),
      cpus: info.CpuCfsQuota && controllers.includes('cpu'),
    },
  };
}

/** From the answer of ImageInspect. */
export function imageInfoOf(answer: unknown): ImageInfo {
  const { Id, RepoTags, Config } = answer as {
    readonly Id: string;
    readonly RepoTags?: readonly string[] | null;
    readonly Config?: {
      readonly Labels?: Readonly<Record<string, string>> | null;
      readonly Env?: readonly string[] | null;
    } | null;
  };
  return { id: Id, tags: RepoTags ?? [], labels: Config?.Labels ?? {}, env: Config?.Env ?? [] };
}

/** A file in a container. */
export interface InnerFile extends Record<'mode' | 'uid' | 'gid', number> {
  /** All of it. */
  readonly content: Buffer;
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
