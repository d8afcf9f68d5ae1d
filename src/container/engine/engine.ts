/**
 * What `cai` needs of whatever runs its containers. `find-engine.ts` finds the one that is meant; `docker/` is Docker's
 * API, which podman's service has as well, `kubernetes/` a cluster's. What an engine cannot do is data: `capabilities`
 * in `engine-info.ts`.
 */
import type { Duplex } from 'node:stream';
import { CaiError } from '../../errors';
import type { OpenPipes } from '../../system/streams/pipe-streams';
import type { ContainerInfo, ContainerMount, ContainerRights } from './container-info';
import type { ContainerProcess } from './container-processes';
import type { ImageStore } from './image-store';
import type { DiskUse, EngineAbout, InnerFile, MissingRight, QuotaUse } from './engine-info';

/** Labels of a container or a volume; of what is looked for, all have to be there. */
export type Labels = Readonly<Record<string, string>>;

/** Whether all those labels are there. Engines differ in how they combine filters: for podman one label is enough. */
export function hasAll(wanted: Labels): (listed: { readonly labels: Labels }) => boolean {
  return ({ labels }) => Object.entries(wanted).every(([name, value]) => labels[name] === value);
}

/** What a list tells of a container. */
export interface ListedContainer extends Pick<ContainerInfo, 'id' | 'name' | 'state' | 'labels'> {
  /** In milliseconds since 1970. */
  readonly createdAt: number;
}

/** What a list tells of a volume. */
export interface ListedVolume {
  readonly name: string;
  readonly labels: Labels;
}

/** What a container is to be, in words that every engine understands. */
export interface ContainerPlan {
  readonly image: string;
  /** Whom everything in it runs as: `uid:gid`; empty: as the image says. */
  readonly user: string;
  /** Its host name; none: the engine gives it one. */
  readonly hostname?: string;
  /** Its first process, in place of the image's. */
  readonly command: readonly string[];
  /** Where that starts; empty: where the image says. */
  readonly workingFolder: string;
  /** Added to the image's environment. Everybody with the engine can see it. */
  readonly env: Readonly<Record<string, string>>;
  readonly labels: Labels;
  /** Of its volumes, should the engine have to make them. */
  readonly volumeLabels: Labels;
  /** What is mounted; each after that in which it lies. */
  readonly mounts: readonly ContainerMount[];
  readonly rights: ContainerRights;
  /** How many processors it may use; 0: all. */
  readonly cpus: number;
  /** Size of `/dev/shm`, which counts as memory, in bytes; absent: as the engine has it. */
  readonly shmBytes?: number;
  /** Names that only it knows: `name:address`. */
  readonly extraHosts: readonly string[];
  /** Names that only it knows, too, for its own loopback address; absent: none. */
  readonly loopbackNames?: readonly string[];
  /** Id of the container whose network it shares, and whose names it knows; absent: of none. */
  readonly networkOf?: string;
  /** Whether a new volume gets what the image has at its place. */
  readonly fillsVolumes?: true;
  readonly isTemporary: boolean;
}

/** A file, a folder or a link to be put into a container, with its owner. */
export interface InnerEntry extends Record<'mode' | 'uid' | 'gid', number> {
  readonly path: string;
  /**
   * A file's content; for a link, what it says; for a folder nothing. `added`: the content is that of the image's own file of
   * this path, and then this, so that an engine need not keep the rest.
   */
  readonly is: { readonly file: string; readonly added?: string } | { readonly link: string } | 'folder';
}

/** The files of a container before anything of the agent runs in it. */
export interface InnerFiles {
  /** `undefined`: there is no such file, or it is no ordinary one, or a huge one. */
  readonly read: (path: string) => Promise<InnerFile | undefined>;
  /** Puts files in, in the order in which they are given. The folders above them are there. */
  readonly put: (entries: readonly InnerEntry[]) => Promise<void>;
}

/** What somebody else has decided about our use of an engine that is not ours alone. Rejects as `Engine`. */
export interface Allowances {
  missingRights(): Promise<readonly MissingRight[]>;
  /** None: there are no limits, or we may not see them. */
  quotas(): Promise<readonly QuotaUse[]>;
}

/** There is no way into a container now, and there may be soon: it is being started, or stands still. */
export class NotYet extends Error {}

/** A container that is to have no network would have one, so it does not run. */
export class NoWall extends CaiError {
  constructor(message: string) {
    super('NO_WALL', message);
  }
}

/**
 * An engine that has answered. Every method rejects with `CaiError`: `NO_ENGINE` if it cannot be reached any more,
 * `NOT_READY` if it does not answer, `CONTAINER_NOT_FOUND` or `IMAGE` for what is not there, else as each of them says.
 */
export interface Engine {
  readonly images: ImageStore;

  /** Absent: whoever reaches the engine may do everything, and nobody else keeps containers from the network. */
  readonly allowances?: Allowances;
  /** Whether it is on another machine, where only folders can be mounted that are the same there. */
  readonly isElsewhere?: boolean;

  /**
   * Called with what a container that starts waits for, as a node, again and again while it does; with `undefined` once it
   * no longer waits.
   */
  onWait?: ((why: string | undefined) => void) | undefined;

  /** What takes room on its disk. Absent: it does not tell. */
  diskUse?(): Promise<DiskUse>;

  /** What the engine is and can do; the engine is asked once. */
  about(): Promise<EngineAbout>;

  /** Rejects with `WORKSPACE` for a folder of this machine that must not or cannot be mounted. */
  checkBinds(binds: readonly { readonly source: string }[]): Promise<void>;

  /** The containers with all these labels, running or not, newest first. */
  listContainers(labels: Labels): Promise<readonly ListedContainer[]>;

  /** `undefined`: there is no such container, or it is just being made. */
  inspectContainer(idOrName: string): Promise<ContainerInfo | undefined>;

  /**
   * Makes a container. An engine that cannot start one that is there starts it at once. `fill` puts its files in,
   * having looked into those of its image. Resolves with its id; with `undefined` if somebody else has a container of
   * that name, or is making one, or has removed this one meanwhile. One that cannot be filled is removed, unless the
   * engine does not answer. Rejects with `CONTAINER_START`.
   */
  createContainer(
    name: string,
    plan: ContainerPlan,
    fill: (inside: InnerFiles) => Promise<void>,
  ): Promise<string | undefined>;

  /** Puts files into a container and starts it; one that runs goes on. An engine that starts it when it is made needs none. */
  startContainer(id: string, entries: readonly InnerEntry[]): Promise<void>;

  /**
   * Works with the files of a volume, in a container that is made from such a plan for that, in which nothing of an
   * agent runs.
   */
  withVolume<T>(name: string, plan: ContainerPlan, work: (inside: InnerFiles) => Promise<T>): Promise<T>;

  /** A new stream to an sshd in a running container. Rejects with `NotYet`, with `CaiError`, and as sockets do. */
  connectTo(container: { readonly id: string; readonly pid: number }): Promise<Duplex>;

  /**
   * Opens our ends of the named pipes of a command in a running container. `undefined`: they cannot be reached from here.
   * An engine whose pipes never can lacks it.
   */
  openPipes?(container: { readonly pid: number }, name: string): Promise<OpenPipes | undefined>;

  /** What people type to see what the engine knows of the container of that name. */
  lookCommand(name: string): string;

  /** Asks the first process to end, and kills it after `seconds`. Does nothing to a container that does not run. */
  stopContainer(id: string, seconds: number): Promise<void>;

  /** Kills what runs in it; its volumes without a name go with it. Does not fail if it is gone, or another process removes it. */
  removeContainer(id: string): Promise<void>;

  /** All processes in a container; none if it does not run. */
  processes(id: string): Promise<readonly ContainerProcess[]>;

  /**
   * Starts a program in a container as its user: its stdin, and what it prints but for errors. `undefined`: the container is
   * paused, does not run, or is gone. Absent: services run nowhere on this engine.
   */
  startIn?(id: string, argv: readonly string[]): Promise<Duplex | undefined>;

  /** How many processes and threads it has; `undefined`: not known, or it does not run. */
  processCount(id: string): Promise<number | undefined>;

  /** Resolves with the exit status of a container when it has ended. */
  waitContainer(id: string): Promise<number>;

  /** What the first process of a container printed last, at most so many lines. */
  logsTail(id: string, lines: number): Promise<string>;

  listVolumes(labels: Labels): Promise<readonly ListedVolume[]>;

  /** Does nothing to a volume that exists. */
  createVolume(name: string, labels: Labels): Promise<void>;

  /** Does nothing if there is no such volume. Rejects with `CONTAINER_START` for one in use. */
  removeVolume(name: string): Promise<void>;
}
