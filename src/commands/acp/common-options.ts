/** What a connection is made from, in its own process as in a program that embeds it; an early answer needs it too. */
import { join } from 'node:path';
import type pino from 'pino';
import { version } from '../../../package.json';
import { cursorAdapter, resolveAgent, type AgentCommand } from '../../agent/catalog';
import { hasOwnSignIns } from '../../agent/own-sign-ins';
import { programIdentity } from '../../system/paths/program-identity';
import { configFileOf, loadConfig, type Config } from '../../config/config';
import { imageTagOf, usualImage } from '../../container/image/image-tag';
import { Profiles, SignIn } from '../../acp';
import { CaiError } from '../../errors';
import { packageFile } from '../../system/files/package-file';
import type { Host } from '../../system/host';
import { openLog } from '../../system/log';
import { LogFile } from '../../system/log-file';
import { isAlive } from '../../system/process-identity';

interface Chosen {
  readonly agent: AgentCommand;
  readonly config: Config;
  readonly isDirect: boolean;
}

/**
 * The agent of that name, or else the configured one. Fails with `CaiError('CONFIG')` for a configuration that cannot be
 * used, with `UNSUPPORTED_AGENT` for a name that nobody knows.
 */
export function chooseAgent(name: string | undefined, agentArgs: readonly string[], host: Host): Chosen {
  const config = limited(loadConfig(host), host);
  const isDirect = host.env.CAI_ACP_DIRECT_SPAWN === '1';
  const agent = resolveAgent(name ?? config.agent.default, agentArgs, {
    agents: config.agents,
    host,
    namedAt: name === undefined ? () => `"agent.default" in ${configFileOf(host)}` : undefined,
  });
  return { agent: withAdapter(agent, config, isDirect, host), config, isDirect };
}

/** Cursor's command line is started by our adapter, which looks whether it speaks ACP itself. */
function withAdapter(agent: AgentCommand, config: Config, isDirect: boolean, host: Host): AgentCommand {
  const { command, adapter = 'auto' } = config.agents.cursor ?? {};
  const isOurs = agent.name === 'cursor' && command === undefined && host.env.CAI_ACP_TEST_MODE !== '1';
  if (!isOurs || (adapter === 'native' && !isDirect)) return agent;
  const start: [string, string] = isDirect
    ? [process.execPath, packageFile(cursorAdapter.packaged)]
    : ['node', cursorAdapter.inContainer];
  // Behind "cursor-agent acp" there are the user's own arguments.
  const args = [...agent.command.slice(2), ...(config.sessions.persist ? [] : ['--no-sessions'])];
  return { ...agent, command: [...start, '--adapter', adapter, ...args] };
}

/** What both an early answer and the proxy work with. `logStream`: `stream` of `openLog`. */
export function commonOptions(chosen: Chosen, host: Host, logStream?: pino.DestinationStream) {
  const { agent, config, isDirect } = chosen;
  const { state } = host.folders;
  const about = { pid: process.pid, agent: agent.name, version };
  // A process that lives long has had many connections: of its logs, too, only the newest are kept.
  const isOther = (pid: number): boolean => pid !== process.pid && isAlive(pid);
  const log = openLog(host.env, new LogFile(join(state, 'logs'), about, isOther), logStream);
  const signIn = new SignIn({ agent: isDirect ? undefined : agent, host, log });
  // A login may name any folder in the workspace, and finds the root when it runs.
  if (!isDirect && hasOwnSignIns(agent.name, config)) signIn.ownRoot = host.cwd;
  const profiles = new Profiles({
    agent,
    config,
    cwd: host.cwd,
    imageName: isDirect ? undefined : imageTagOf(usualImage(agent.name, config, host)),
    folder: config.sessions.persist ? join(state, 'profiles') : undefined,
    // What the adapter of Cursor says depends on Cursor's program, too.
    programIdentity: () => {
      const cursor = programIdentity([host.env.CURSOR_AGENT_EXECUTABLE ?? 'cursor-agent'], host.env.PATH);
      return programIdentity(agent.command, host.env.PATH) + (agent.name === 'cursor' ? cursor : '');
    },
    signIn,
    log,
  });
  const terminals = isDirect ? 'off' : config.acp.terminal;
  // In a container agents use the disk. The editor of a server may be on another machine, which has other files.
  const hasFiles = isDirect && !host.isServed;
  return { ...chosen, host, about, log, profiles, signIn, terminals, hasFiles } as const;
}

/**
 * For somebody who may use some folders only: nothing that reaches further. Fails with `CaiError('CONFIG')` where agents
 * keep what they know of all folders in one place.
 */
function limited(config: Config, host: Host): Config {
  if (host.workspaces === undefined) return config;
  if (config.agent.data === 'shared')
    throw new CaiError(
      'CONFIG',
      `${configFileOf(host)}: with data = "shared" in [agent], whoever may use some folders would see the sessions of all: remove it, or let them use "all"`,
    );
  return { ...config, mcp: { forwardLoopback: false, hostServers: [] } };
}
