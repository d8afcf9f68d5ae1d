import type { AgentCommand } from '../agent/catalog';
import type { Config } from '../config/config';
import type { KnownAnswer, Profiles } from './profiles/profiles';
import type { Recorder } from './recording/recorder';
import type { Core } from './relay/core';
import type { AgentStatus } from '../rpc/status';
import type { LineWriter } from '../rpc/writer';
import type { SessionObserver } from './sessions/observer';
import type { SessionStore } from './sessions/session-records';
import type { SignIn } from './sign-in/sign-in';
import type { Host } from '../system/host';
import type { Log } from '../system/log';
import type { Workspace } from '../workspace/root';

export interface ProxyOptions {
  readonly agent: AgentCommand;
  readonly config: Config;
  /** This machine. Agents get its environment; its current folder is the proxy's. */
  readonly host: Host;
  /** Where the commands run that agents start in the editor's terminals; `off`: agents get no terminals. */
  readonly terminals: Config['acp']['terminal'];
  readonly signIn: SignIn;
  /** What `initialize` may be answered with before an agent runs. */
  readonly profiles: Profiles;
  readonly answered: KnownAnswer | undefined;
  /** Where the sessions of this and earlier processes are remembered. */
  readonly sessions: SessionStore;
  readonly writer: LineWriter;
  /** Records all messages; undefined: nothing is recorded. */
  readonly recorder: Recorder | undefined;
  readonly log: Log;
  /** What else follows its sessions. */
  observers(core: Core): readonly SessionObserver[];
  /** Whether a workspace has agent data that no other workspace has. `undefined`: the agents without a workspace. */
  hasOwnData(root: string | undefined): boolean;
  /** Allows a place to the agents of a workspace for good; undefined where the user may not. */
  readonly allowAlways: ((root: string | undefined, place: string) => void) | undefined;
  /** What is in effect for the workspace with that root, as its container has it. */
  configOf(root: string): Config;
  /** Whether agents may read and write the files of their sessions' folders through the editor. */
  readonly hasFiles: boolean;
  /**
   * What an agent calls the root of a workspace: where it is mounted, then links to that. `undefined`: the
   * agent sees the files of this machine.
   */
  placesOf(root: string): readonly [string, ...string[]] | undefined;
  /** The command that runs the agent for a workspace; without a workspace, for the sessions outside of workspaces. */
  commandFor(workspace: Workspace | undefined): AgentCommand;
  /** Our own program with these arguments; undefined where the agents are not in containers. */
  readonly helper: ((args: readonly string[]) => readonly [string, ...string[]]) | undefined;
  /** Tells `cai serve`, which has started this process, what becomes of its agents. */
  readonly tellServer?: ((status: AgentStatus) => void) | undefined;
  /** After `stopIfBusy` was true: the editor may be read on. */
  onRoom(): void;
}
