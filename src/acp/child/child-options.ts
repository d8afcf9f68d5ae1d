import type { AgentProcessOptions } from '../../agent/process';
import type { LineWriter } from '../../rpc/writer';
import type { PathMap } from '../../system/paths/path-map';
import type { ChildRecorder } from '../recording/recorder';
import type { Attempts } from './retry';

/** How a child is made, and each process of its agent. */
export interface ChildOptions extends AgentProcessOptions {
  /** Real path of the workspace's root; undefined for the child that serves no workspace. */
  readonly root: string | undefined;
  /** Identity of that folder, from `identify`. */
  readonly identity?: string | undefined;
  /** Between the editor's paths and the agent's, for messages that name no session. */
  readonly map: PathMap;
  readonly records?: ChildRecorder | undefined;
  readonly writer: LineWriter;
  /** Bytes that may wait for an agent that does not read. */
  readonly inputBudgetBytes: number;
  readonly attempts: Attempts;
}
