/** What is mounted of the host. */

/** A file or folder of the host, and where it is inside. */
export interface Bind {
  /** Real path. */
  readonly source: string;
  /** Absolute path inside. */
  readonly target: string;
  /** Whether nothing can be written there. */
  readonly isReadOnly: boolean;
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
