/** Whoever has come in to `cai serve`. */
export interface Visitor {
  /** As the token's list names them. */
  readonly name: string;
  /** The agents that they may use; undefined: all that are served. */
  readonly agents?: readonly string[];
  /** Real paths of the folders in which their workspaces lie; undefined: all of this machine. */
  readonly workspaces?: readonly string[];
}
