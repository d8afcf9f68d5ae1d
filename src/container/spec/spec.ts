/** What is known of the container of a workspace and an agent before it is made. */
import type { SettingsFile } from '../../agent/catalog';
import type { Config } from '../../config/config';
import type { Host } from '../../system/host';
import type { ContainerMount } from '../engine/container-info';
import type { EngineAbout } from '../engine/engine-info';
import type { UserSettings } from './user-settings';

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
