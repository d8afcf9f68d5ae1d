/** A container in our own words, in which all engines say the same of the same. */

/** Exit status of a process that was killed: 128 and the number of SIGKILL. */
export const killedStatus = 137;

/** What an engine tells of a container. */
export interface ContainerInfo {
  /** The engine's id, of at most 300 characters; no other container ever has it. */
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
  /** Why the engine itself has ended it, in its words; `undefined`: it has not, or does not tell. */
  readonly endedBecause?: string | undefined;
  /** When it was started last, in milliseconds since 1970; `undefined`: never. */
  readonly startedAt: number | undefined;
  /** Its labels, those of the image included. */
  readonly labels: Readonly<Record<string, string>>;
  /** Environment of its first process: the image's and the container's, `NAME=value`; podman adds some. */
  readonly env: readonly string[];
  readonly hostname: string;
  /** As it was asked for: `uid:gid`; empty: the image's. */
  readonly user: string;
  readonly imageId: string;
  /** Id of its first process, as the engine's machine counts; 0 if it does not run. */
  readonly pid: number;
  /** What is mounted in it, by `target`. */
  readonly mounts: readonly ContainerMount[];
  readonly rights: ContainerRights;
  /** Names of other containers that share what it has, and that the user's configuration does not name. */
  readonly strangers?: readonly string[];
}

export interface ContainerMount {
  /** `bind`, `volume`, `tmpfs`, or what else the engine knows. */
  readonly type: string;
  /** Of `bind` the path on the engine's machine, of `volume` its name, else what the engine tells. */
  readonly source: string;
  /** Absolute path inside. */
  readonly target: string;
  readonly isReadOnly: boolean;
}

/** What a container may do and use, in the words in which it is recorded when it is made. 0 stands for no limit. */
export interface ContainerRights {
  /** Capabilities beyond none, sorted, without the prefix `CAP_`. */
  readonly capabilities: readonly string[];
  /** Whether all other capabilities are dropped and none can be gained, and nothing is shared with the host or others. */
  readonly isConfined: boolean;
  /** Whether it has more of a network than its own loopback address. */
  readonly hasNetwork: boolean;
  /** Which system calls it may make: `engineProfile`, `unconfined`, the hash or the path of a profile. */
  readonly seccomp: string;
  /** `private`, if the engine has control groups apart for each container. */
  readonly cgroups: string;
  readonly memoryBytes: number;
  /** Limit of processes and threads. podman has 2048 where nothing was asked for. */
  readonly pids: number;
  /** Addresses of this machine on which ports are published. */
  readonly publishedOn: readonly string[];
}

/** Whether the container is gone, or its removal has begun. */
export function isGoing(info: ContainerInfo | undefined): boolean {
  return info === undefined || info.state === 'removing' || info.state === 'dead';
}

/** The profile of system calls that an engine has by itself, as it is recorded. */
export const engineProfile = 'default';

/** The rights of a container that does nothing. */
export const noRights: ContainerRights = {
  capabilities: [],
  isConfined: true,
  hasNetwork: false,
  seccomp: engineProfile,
  cgroups: 'private',
  memoryBytes: 0,
  pids: 0,
  publishedOn: [],
};
