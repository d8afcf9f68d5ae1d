/** What the container of a workspace and an agent is to be: its name, what is mounted, and its rights. */
import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import type { SettingsFile } from '../../agent/catalog';
import type { UserSettings } from './user-settings';
import type { Config } from '../../config/config';
import { agentHome } from '../../workspace/mount';
import type { ContainerMount, ContainerRights } from '../engine/container-info';
import type { EngineAbout } from '../engine/engine-info';
import type { Host } from '../../system/host';

/** The labels that tell our containers, and what they were made for. */
export const label = {
  // On containers and volumes: `true`. On no image, because containers inherit its labels.
  managed: 'containai.managed',
  // Root of the workspace, empty without one.
  workspace: 'containai.workspace',
  agent: 'containai.agent',
  // Of `Settings`: tells a container that was made for another configuration.
  configHash: 'containai.config-hash',
  // What is protected in it, as `protectionText` tells it.
  protection: 'containai.protection',
  // JSON of `Recorded`.
  spec: 'containai.spec',
  // JSON: what was mounted of the host, `device:inode` by its place inside, for each bind that is a root.
  roots: 'containai.roots',
  // Of `Settings`; absent without one.
  authority: 'containai.authority',
  // Fingerprint of its SSH host key, `SHA256:...`.
  hostKey: 'containai.host-key',
  // Of one that was made from a devcontainer.json: what its image says of it, as `metadataOf` reads it.
  devcontainer: 'containai.devcontainer',
  // Process that made it, as `ownIdentity` names it.
  maker: 'containai.maker',
  // Names of the services beside it, with commas between; absent: none.
  services: 'containai.services',
  // On what is made for a service: its name; on its container, the id of the container of the agent.
  service: 'containai.service',
  serviceOf: 'containai.service-of',
  // Id of the host's user that made it.
  user: 'containai.user',
} as const;

/** A file or folder of the host, and where it is inside. */
export interface Bind extends Omit<ContainerMount, 'type'> {
  /**
   * `device:inode` of what was there when it was looked at; empty where the system does not tell. Whoever
   * can rename a folder above it can put a link in its place before the engine mounts it.
   */
  readonly identity: string;
  /**
   * Whether it is a folder that must be the same one whenever the container is used again. Not so for a file, which
   * is another one each time it is saved.
   */
  readonly isRoot: boolean;
}

/** Whom the commands in a container run as, by number. */
export type ContainerUser = Host['user'];

/** `[container]` of the configuration, and whether the agent's data volume serves all workspaces or this one. */
type LimitSettings = Config['container'] & Pick<Config['agent'], 'data'>;

/** What the user's configuration and the workspace say of a container, before any engine is asked. */
export interface Settings extends LimitSettings {
  readonly agent: string;
  /** Its host name; none: the engine chooses one. */
  readonly hostname?: string;
  /** The agent's settings for the whole container, which an image of the user's may have its own of. */
  readonly agentSettings?: SettingsFile;
  /** The user's own settings that it gets; absent where none are wanted. */
  readonly userSettings?: UserSettings;
  /** Root of the workspace; `undefined`: none. */
  readonly workspace: string | undefined;
  /** Where commands start: where the workspace is mounted, or the home folder. */
  readonly workingFolder: string;
  /** Whether the workspace is copied into its own volume, in place of being mounted. */
  readonly isCopied: boolean;
  /** The host's user that `cai` runs as. */
  readonly hostUser: ContainerUser;
  /** What is mounted of the host: the workspace, and what belongs to git or was chosen by the user. */
  readonly binds: readonly Bind[];
  /** Mounts over those, which keep what the host would execute from being written; `undefined`: none are wanted. */
  readonly protection: readonly Bind[] | undefined;
  /** Sentences for the user about what is not as it may be expected. */
  readonly notices: readonly string[];
  /** Whether it has the engine's usual network. */
  readonly hasNetwork: boolean;
  /** Whether this machine has its name there, because ports of it are reached; absent: it has none. */
  readonly namesMachine?: true;
  /** What runs beside it; absent: nothing. */
  readonly services?: Config['services'] | undefined;
  /** Certificates to trust besides those of the image, as PEM. */
  readonly certificates: string | undefined;
  /** Which of them is ours, for the hosts that get keys and tokens; `undefined`: none. */
  readonly authority: string | undefined;
  /** Public key that sshd lets in, as a line of `authorized_keys`. */
  readonly authorizedKey: string;
  /** Hash of the files of our package that are put in, of which a later version may have others. */
  readonly filesHash: string;
}

/** What the engine and the file system add to that when a container is made. */
export interface Circumstances {
  /** Id of the image, not its tag. */
  readonly image: string;
  readonly user: ContainerUser;
  /** What the image of a development container says of it; absent: the image is of no development container. */
  readonly devcontainer?: string | undefined;
  /** The size of the engine's machine, and what the engine can hold there: it ignores a limit that it cannot. */
  readonly engine: Pick<EngineAbout, 'memoryBytes' | 'cpus' | 'can' | 'seccomp'>;
}

/** What a container is made with and the engine tells of it: the two must stay equal. */
export interface Recorded extends ContainerRights {
  readonly image: string;
  /** `uid:gid`. */
  readonly user: string;
  /** `type source target ro|rw`, sorted. */
  readonly mounts: readonly string[];
}

export type Named = Pick<Settings, 'workspace' | 'agent' | 'hostUser' | 'authorizedKey'>;

/** `cai-<folder>-<12 hex digits>`, the same for the same user, key of that user, workspace and agent. */
export function containerName(settings: Named): string {
  // A user with several state folders has a key in each, which does not open the containers of the others.
  return nameOf(settings, [settings.authorizedKey]);
}

const copyVolumeEnd = '-copy';
const folderVolumeEnd = '-own';

/** Name of the volume in place of a folder of the workspace, which all agents there share. */
function folderVolumeName(settings: Settings, folder: string): string {
  return `${nameOf({ ...settings, agent: '' }, [folder])}${folderVolumeEnd}`;
}

/** Whether `folderVolumeName` has given that name. */
export const isFolderVolume = (volume: string): boolean => volume.endsWith(folderVolumeEnd);

/** The mounts in place of folders of the workspace. */
export function folderMounts(settings: Settings): ContainerMount[] {
  return settings.own.map((folder) => ({
    type: 'volume',
    source: folderVolumeName(settings, folder),
    target: posix.join(settings.workingFolder, folder),
    isReadOnly: false,
  }));
}

/** Name of the volume with the copy of a workspace. */
export function copyVolumeName(settings: Settings): string {
  return `${nameOf({ ...settings, agent: '' }, [])}${copyVolumeEnd}`;
}

/** Whether `copyVolumeName` has given that name. */
export const isCopyVolume = (volume: string): boolean => volume.endsWith(copyVolumeEnd);

function nameOf(
  { workspace = '', agent, hostUser }: Omit<Named, 'authorizedKey'>,
  more: readonly string[],
): string {
  const folder = posix
    .basename(workspace)
    .toLowerCase()
    .replace(/[^a-z0-9_.-]+/g, '-')
    .slice(0, 30);
  const id = hash([workspace, agent, hostUser.uid, ...more]).slice(0, 12);
  return `cai-${folder.replace(/^[^a-z0-9]+/, '') || 'none'}-${id}`;
}

/** Containers that one version of `cai` made with the same hash, image and protection are alike. */
export function configHash(settings: Settings): string {
  const binds = settings.binds.map((bind) => mountText({ type: 'bind', ...bind }));
  const entries = Object.entries({ ...settings, binds, protection: undefined, notices: [] });
  return hash(entries.sort(([a], [b]) => (a < b ? -1 : 1))).slice(0, 16);
}

/** All mounts of the host, each after that in which it lies. */
export const allBinds = ({ binds, protection = [] }: Settings): Bind[] => [...binds, ...protection];

/** Root on a rootless engine is the user of the host, and sshd needs these to let it in. */
const rootCapabilities = ['SETGID', 'SETUID', 'SYS_CHROOT'];

/** No agent needs more, and the machine keeps half. */
const mostMemoryBytes = 8 * 2 ** 30;

/** What a container with these settings is made with, and compared with at each later use. */
export function recordedOf(settings: Settings, circumstances: Circumstances): Recorded {
  const { image, user } = circumstances;
  return {
    image,
    user: `${user.uid}:${user.gid}`,
    mounts: mountsOf(settings, user).map(mountText).sort(),
    ...rightsOf(settings, circumstances),
  };
}

/** What it may do and use. */
export function rightsOf(settings: Settings, { user, engine }: Circumstances): ContainerRights {
  return {
    capabilities: user.uid === 0 ? rootCapabilities : [],
    isConfined: true,
    hasNetwork: settings.hasNetwork,
    seccomp: engine.seccomp,
    cgroups: 'private',
    memoryBytes: engine.can.memory ? memoryOf(settings, engine) : 0,
    pids: engine.can.pids ? settings.pids : 0,
    publishedOn: [],
  };
}

function memoryOf(
  { memoryBytes, memoryAtMostBytes = mostMemoryBytes }: LimitSettings,
  engine: Circumstances['engine'],
): number {
  return memoryBytes ?? Math.min(mostMemoryBytes, Math.floor(engine.memoryBytes / 2), memoryAtMostBytes);
}

/** What engines give by themselves, which browsers and databases find too little. */
const leastSharedMemoryBytes = 64 * 2 ** 20;

/** Size of `/dev/shm`, in bytes. What lies there counts as memory of the container. */
export function sharedMemoryOf(settings: LimitSettings, { engine }: Pick<Circumstances, 'engine'>): number {
  const quarter = Math.floor(memoryOf(settings, engine) / 4);
  return settings.shmBytes ?? Math.max(leastSharedMemoryBytes, quarter);
}

/** A mount in one line, as labels of containers record it. */
export function mountText({ type, source, target, isReadOnly }: ContainerMount): string {
  return `${type} ${source} ${target} ${isReadOnly ? 'ro' : 'rw'}`;
}

/** What is mounted; the data volume first. */
export function mountsOf(settings: Settings, user: ContainerUser): ContainerMount[] {
  const source = dataVolumeName(settings, user);
  const binds = allBinds(settings).map((bind) => ({ type: 'bind', ...bind }));
  const { workingFolder: target, isCopied } = settings;
  const copy = { type: 'volume', source: copyVolumeName(settings), target, isReadOnly: false };
  const data = { type: 'volume', source, target: dataFolder, isReadOnly: false };
  return [data, ...(isCopied ? [copy] : []), ...binds, ...folderMounts(settings)];
}

/** The labels of all that is made for a user. */
export function ownerLabels({ agent, hostUser }: Settings): Record<string, string> {
  return { [label.managed]: 'true', [label.agent]: agent, [label.user]: String(hostUser.uid) };
}

/** On its data volume: which workspace it is of, if it is of one. */
export function volumeLabels(settings: Settings): Record<string, string> {
  const { data, workspace } = settings;
  const isOfOne = data === 'workspace' && workspace !== undefined;
  return { ...ownerLabels(settings), ...(isOfOne && { [label.workspace]: workspace }) };
}

/** On the volumes with the copy of a workspace, and in place of its folders, which all agents there share. */
export function workspaceLabels({ workspace = '', hostUser }: Settings): Record<string, string> {
  return { [label.managed]: 'true', [label.workspace]: workspace, [label.user]: String(hostUser.uid) };
}

/** Where an agent keeps sign-ins and history: outlives the container. */
export const dataFolder = `${agentHome}/.data`;

/** Where programs inside find the certificates of the user's configuration. */
export const caFile = '/run/cai/ca.pem';

/** The bundle of Debian's ca-certificates, which most programs read. */
export const systemCaFile = '/etc/ssl/certs/ca-certificates.crt';

const ownVolumeEnd = '-data';

/** Whether a name that `dataVolumeName` has given is of the volume of one workspace. */
export const isOfOneWorkspace = (volume: string): boolean => volume.endsWith(ownVolumeEnd);

/** Name of an agent's data volume: the user's for all workspaces, or one for each; the same with another key. */
export function dataVolumeName(settings: Settings, user: ContainerUser): string {
  const { agent, hostUser, data } = settings;
  if (data === 'workspace') return `${nameOf(settings, [])}${ownVolumeEnd}`;
  // Its files belong to one user: root works for several.
  const owner = user.uid === hostUser.uid ? `${user.uid}` : `${hostUser.uid}-${user.uid}`;
  // A name that engines do not take becomes one.
  const text = /^[a-z0-9][a-z0-9_.-]{0,30}$/.test(agent) ? agent : hash(agent).slice(0, 12);
  return `cai-data-${text}-${owner}`;
}

function hash(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}
