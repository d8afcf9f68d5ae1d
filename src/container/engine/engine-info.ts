/** What an engine tells of itself and of what it has, but for a single container. */

/** What an engine may be able to do, as people read it: "it cannot ...". */
export const capabilities = {
  memory: 'limit memory',
  pids: 'limit the number of processes',
  cpus: 'limit processors',
  systemCalls: 'filter system calls by our profile',
  restart: 'start a container again that has ended',
  build: 'build images',
} as const;

/** One of `capabilities`. */
export type Capability = keyof typeof capabilities;

/** A product whose virtual machine an engine runs in. */
export type VirtualMachine = 'Colima' | 'Docker Desktop' | 'OrbStack';

export interface EngineAbout {
  /** As people read it: `Docker 20.10.24, API 1.41, rootless`. */
  readonly name: string;
  readonly can: Readonly<Record<Capability, boolean>>;
  /** Whether it runs as an ordinary user, who is root in its containers. */
  readonly isRootless: boolean;
  /** Memory of its machine, which is a virtual one with Docker Desktop. */
  readonly memoryBytes: number;
  readonly cpus: number;
  /** System of its containers: `linux`. */
  readonly osType: string;
  /** Whether its containers run on the kernel of this very system, where files have the same numbers. */
  readonly sharesKernel: boolean;
  /** Name of the other machine that it is on; absent: it is on this one, or in a virtual machine of it. */
  readonly machine?: string;
  /** Whose virtual machine of this machine it is in; absent: in none that is known. */
  readonly virtualMachine?: VirtualMachine;
  /** SELinux lets its containers use only files that are labelled for containers; absent: not so, or not known. */
  readonly isLabelled?: true;
  /** How long it can take until a container runs that was made, in milliseconds: after that it never will. */
  readonly startMs: number;
  /** What its containers' layers lie on: `overlay2 on extfs`; absent: it is not known. */
  readonly storage?: string;
  /** Which system calls its containers may make, as `ContainerRights.seccomp`. */
  readonly seccomp: string;
  /** What follows where that is not our profile; undefined: it is. */
  readonly seccompNotice: string | undefined;
}

export interface ImageInfo {
  /** `sha256:` and 64 hex digits; where a registry has it, with its name and `@` before. */
  readonly id: string;
  /** Names with tags; podman writes the registry in front. */
  readonly tags: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly env: readonly string[];
  /** Whom it runs as, by name or number; absent: root, or the engine does not tell. */
  readonly user?: string;
  /** What it starts: its entrypoint, and the command behind that; absent: nothing, or the engine does not tell. */
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  /** What asks that to end, as `SIGTERM`; absent: not said. */
  readonly stopSignal?: string;
  /** TCP ports at which it says that it listens. */
  readonly ports?: readonly number[];
  /** The processor that it is for, in the words of images: `amd64`; absent: not told. */
  readonly architecture?: string;
  /** When it was built, in milliseconds since 1970; absent: not told. */
  readonly createdAt?: number;
}

export interface InnerFile extends Record<'mode' | 'uid' | 'gid', number> {
  readonly content: Buffer;
}

/** An image on the disk of an engine. */
export interface StoredImage extends Omit<ImageInfo, 'env'> {
  /** All of its layers. */
  readonly bytes: number;
  /** The size of the layers that other images have, too. */
  readonly sharedBytes: number;
  readonly isUsed: boolean;
}

/** What takes room on the disk of an engine. */
export interface DiskUse {
  /** All that are ours or anybody's, but for images of which another one is made. */
  readonly images: readonly StoredImage[];
  /** What containers have written, but for mounts and volumes: bytes by the container's id. */
  readonly containers: ReadonlyMap<string, number>;
  /** Bytes by the volume's name. */
  readonly volumes: ReadonlyMap<string, number>;
}

/** A right that somebody has to give us. */
export interface MissingRight {
  /** As people read it: `"watch" on pods`. */
  readonly right: string;
  /** What follows, as in "without it, ...". */
  readonly without: string;
  /** Whether something else may stand in for it. */
  readonly isOptional: boolean;
}

/** What all containers, and others, may use together. */
export interface QuotaUse {
  /** In the engine's words: `pods`, `requests.memory`. */
  readonly what: string;
  /** In the engine's words, as the limit: `3`, `1536Mi`. */
  readonly used: string;
  /** Of which nobody gets more. */
  readonly limit: string;
  /** Whether nothing is left. */
  readonly isUsedUp: boolean;
}
