/** What surrounds a proxy: its state on disk, who follows its sessions, and how an agent is run and sees its workspace. */
import { writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Host } from '../../system/host';
import {
  type ProxyOptions,
  type Core,
  DelayObserver,
  MentionObserver,
  ReviewObserver,
  UsageObserver,
  SessionFile,
} from '../../acp';
import { keepDecision } from '../../network';
import type { AgentCommand } from '../../agent/catalog';
import { execution, ownProgram } from '../../agent/cai-program';
import { statusLine, type AgentStatus } from '../../rpc/status';
import type { Config } from '../../config/config';
import { loadWorkspaceConfig } from '../../config/effective-config';
import { isAllowed } from '../../workspace/allowed';
import { fallbackMount, mountOf } from '../../workspace/mount';
import type { Workspace } from '../../workspace/root';
import type { EarlyAnswer } from './early-answer';
import { unlessFails } from '../../system/unless';

/** What a connection is made from, besides what the proxy is. */
export interface ConnectionOptions extends Pick<
  ProxyOptions,
  'agent' | 'config' | 'hasFiles' | 'host' | 'log' | 'profiles' | 'signIn' | 'terminals'
> {
  /** Which process this is, for records. */
  readonly about: { readonly pid: number; readonly agent: string; readonly version: string };
  /** The agent is a process of this machine. */
  readonly isDirect: boolean;
  /** Where all that passes is written down; undefined: nowhere. */
  readonly recordFile: string | undefined;
  /** What has passed already; undefined: nothing. */
  readonly early: EarlyAnswer | undefined;
}

/** What a proxy is made from, besides its two ends. */
export function surroundings({ agent, config, host, isDirect, log }: ConnectionOptions) {
  const { persist, keepMs } = config.sessions;
  const { state } = host.folders;
  const file = persist ? new SessionFile(join(state, 'sessions.ndjson'), keepMs, log) : undefined;
  /** What the configuration of a workspace says; `otherwise` where that cannot be used. */
  const configured = <T>(root: string | undefined, read: (config: Config) => T, otherwise: T): T => {
    try {
      return read(root === undefined ? config : loadWorkspaceConfig(host, root).config);
    } catch {
      return otherwise;
    }
  };
  const mountsOf = (root: string) => configured(root, (its) => its.mounts.map(({ path }) => path), []);
  return {
    sessions: { agent: agent.name, file, isAllowed: (root: string) => isAllowed(host, root) },
    observers: (core: Core) => [
      ...(persist ? [new UsageObserver(join(state, 'usage'), keepMs, agent.name, log)] : []),
      // Agents that run on this machine execute what they like, and need no image.
      ...(isDirect ? [] : [new ReviewObserver(core, host), new DelayObserver(core)]),
      // The files of an editor elsewhere are not those of this machine.
      ...(isDirect || host.isServed ? [] : [new MentionObserver(core, mountsOf)]),
    ],
    hasOwnData: (root: string | undefined) =>
      !isDirect && configured(root, (its) => its.agent.data === 'workspace', true),
    configOf: (root: string) => configured(root, (its) => its, config),
    placesOf: (root: string) => placesOf(root, host, isDirect),
    commandFor: (workspace: Workspace | undefined) => (isDirect ? agent : contained(agent, workspace)),
    // Rules are the owner's, and hold for everybody who uses the workspace.
    allowAlways:
      host.workspaces === undefined
        ? (root: string | undefined, place: string): void => keepDecision(state, root, 'allow', place)
        : undefined,
    tellServer: host.isServed ? tellServer : undefined,
    helper: isDirect ? undefined : ownProgram,
  };
}

/** As `servedVariable` says. */
function tellServer(status: AgentStatus): void {
  // Where the server is gone, or reads nothing: it only counts.
  unlessFails(() => writeSync(3, statusLine(status)));
}

/** What the agent calls the root of a workspace; `undefined`: as we do. */
function placesOf(root: string, host: Host, isDirect: boolean): [string, ...string[]] | undefined {
  const forced = host.env.CAI_ACP_WORKSPACE_MOUNT;
  if (isDirect) return forced === undefined ? undefined : [forced];
  return [mountOf(root, host), fallbackMount];
}

/** The command that runs an agent in the container of a workspace, or in one without a workspace. */
function contained(agent: AgentCommand, workspace: Workspace | undefined): AgentCommand {
  const place =
    workspace === undefined
      ? ['--no-workspace']
      : ['--workspace', workspace.root, '--root-identity', workspace.identity];
  return { ...execution(agent, [...place, '--quiet', '--status-fd', '3']), hasStatus: true };
}
