import type { Host } from '../../system/host';
import type { AgentCommand } from '../../agent/catalog';
import type { Config } from '../../config/config';
import type { LineWriter } from '../../rpc/writer';
import type { Log } from '../../system/log';
import type { Workspace } from '../../workspace/root';
import type { ChildEvent, WorkspaceChild } from '../child/workspace-child';
import type { Recorder } from '../recording/recorder';

/** What children are made from. */
export interface ChildrenOptions {
  /** The agent, as it was named; every child runs it. */
  readonly agent: AgentCommand;
  /** The user's configuration. */
  readonly config: Config;
  /** What is in effect for the workspace with that root, as its container has it. */
  configOf(root: string): Config;
  /** Environment of every child. */
  readonly host: Host;
  /** Writes to the editor; each child gets a lane. */
  readonly writer: LineWriter;
  /** For starts, ends and what could not be repeated. */
  readonly log: Log;
  /**
   * What an agent calls the root of a workspace: where it is mounted, then links to that. `undefined`: the
   * agent sees the files of this machine.
   */
  placesOf(root: string): readonly [string, ...string[]] | undefined;
  /** The command that runs the agent for a workspace, or, without one, for none. */
  commandFor(workspace: Workspace | undefined): AgentCommand;
  /** Writes down what passes between us and the children. */
  readonly recorder?: Recorder | undefined;
  /** Hears what a child tells. */
  hear(child: WorkspaceChild, event: ChildrenEvent): void;
}

/** What children tell; `lines` only where nothing is recorded. */
export type ChildrenEvent =
  | Extract<ChildEvent, { readonly kind: 'line' | 'lines' | 'asks' }>
  /** The answer to `initialize`, or the image that the agent runs in, has become known. */
  | { readonly kind: 'hello' }
  /** The child has ended, and nothing of it is open any more. */
  | { readonly kind: 'end' };
