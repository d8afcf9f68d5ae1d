import type { AgentProcessOptions } from '../agent/process';
import type { Log } from '../system/log';
import type { LineWriter } from '../rpc/writer';
import type { PathMap } from '../paths/path-map';
import type { Attempts } from './retry';

/** Capabilities and the like, as far as the proxy reads them. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** What an agent has answered to `initialize`. */
export interface AgentHello {
  /** `agentCapabilities` as it gave them. */
  readonly capabilities: JsonObject;
  /** The result as the editor may see it, JSON text. */
  readonly editorResult: string;
  /** The result as the agent gave it, JSON text. */
  readonly agentResult: string;
}

/** How a child is made. */
export interface WorkspaceChildOptions {
  /** How its process is started. */
  readonly process: Omit<AgentProcessOptions, 'onLine' | 'onLines' | 'onMute' | 'onEnd'>;
  /** It is being ended, and does nothing more for its sessions. May be called several times. */
  onStopping(): void;
  /** Real path of the workspace's root; undefined for the child that serves none. */
  readonly root: string | undefined;
  /** What that root is, as `identify` says it. */
  readonly identity?: string | undefined;
  /** Between the editor's paths and the agent's, for what is about no session. */
  readonly map: PathMap;
  /** Writes to the editor. */
  readonly writer: LineWriter;
  /** Bytes that may wait for an agent that does not read. */
  readonly inputBudgetBytes: number;
  /** What has failed to serve its workspace before it. */
  readonly attempts: Attempts;
  /** For what the agent makes impossible. */
  readonly log: Log;
}
