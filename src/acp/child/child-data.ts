import type { JsonObject } from '../../rpc/json';
import type { CaiError } from '../../errors';
import type { AgentProcessOptions } from '../../agent/process';
import type { ChildRecorder } from '../recording/recorder';
import type { Log } from '../../system/log';
import type { LineWriter } from '../../rpc/writer';
import type { PathMap } from '../../system/paths/path-map';
import type { Attempts } from './retry';

/** What an agent has answered to `initialize`. */
export interface AgentHello {
  /** Its `agentCapabilities`. */
  readonly capabilities: JsonObject;
  /** The result as the editor may see it, JSON text. */
  readonly editorResult: string;
  /** The result as the agent gave it, JSON text. */
  readonly agentResult: string;
}

/** Something to send once the agent has started. */
export interface HeldTask {
  /** What it will write, in bytes. */
  readonly bytes: number;
  /** The agent is ready: sends it. */
  run(): void;
  /** The agent did not start, or ended before it could run. */
  onFailure(reason: CaiError): void;
}

/** How a child is made. */
export interface WorkspaceChildOptions {
  /** How its process is started. */
  readonly process: AgentProcessOptions;
  /** Writes down what passes between us and the agent; `undefined`: nobody does. */
  readonly records?: ChildRecorder | undefined;
  /** The child is being ended, and does nothing more for its sessions. May be called several times. */
  onStopping(): void;
  /** Real path of the workspace's root; undefined for the child that serves none. */
  readonly root: string | undefined;
  /** Identity of that folder, from `identify`. */
  readonly identity?: string | undefined;
  /** Between the editor's paths and the agent's, for messages that name no session. */
  readonly map: PathMap;
  /** Writes to the editor. */
  readonly writer: LineWriter;
  /** Bytes that may wait for an agent that does not read. */
  readonly inputBudgetBytes: number;
  /** Counts the failed starts of its workspace. */
  readonly attempts: Attempts;
  /** For messages that had to be dropped. */
  readonly log: Log;
}
