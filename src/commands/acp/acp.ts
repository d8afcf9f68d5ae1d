/**
 * `cai --acp`: the proxy on stdin and stdout, where nothing but ACP lines is written. What an editor waits for comes
 * first: all that is imported here is loaded before `initialize` is answered, everything else after that.
 */
import { join } from 'node:path';
import { Host } from '../../system/host';
import { version } from '../../../package.json';
import { Profiles } from '../../profiles/profiles';
import { SignIn } from '../../sign-in/sign-in';
import { resolveAgent, type AgentCommand } from '../../agent/catalog';
import { isAlive } from '../../system/process-identity';
import { programIdentity } from '../../agent/program-identity';
import { imageTagOf } from '../../container/image/image-tag';
import { CaiError } from '../../errors';
import { openLog } from '../../system/log';
import { LogFile } from '../../system/log-file';
import { configFileOf, loadConfig, type Config } from '../../config/config';
import { hasOwnSignIns, mayHaveOwnSignIns } from '../../agent/own-sign-ins';
import { answerEarly } from './early-answer';

/** Runs the proxy until the editor is gone; resolves with the exit status. */
export async function run(args: readonly string[], given: Host): Promise<number> {
  const host = new Host({ ...given.env, CAI_NO_UPDATE_CHECK: '1' });
  const config = loadConfig(host);
  const { args: named, file: recordFile } = takeRecordOption(args);
  const [name = config.agent.default, ...agentArgs] = named;
  const isDirect = host.env.CAI_ACP_DIRECT_SPAWN === '1';
  const agent = resolveAgent(name, agentArgs, {
    agents: config.agents,
    isTestMode: host.env.CAI_ACP_TEST_MODE === '1',
    configFile: configFileOf(host),
    cwd: host.cwd,
    namedAt: named.length > 0 ? undefined : () => `"agent.default" in ${configFileOf(host)}`,
  });
  if (host.isOnTerminal) {
    if (agentArgs.length > 0)
      return await (await import('./agent-on-terminal')).runOnTerminal(agent, host, isDirect);
    throw new CaiError(
      'USAGE',
      'this is for an editor to start, not for a terminal: put it into the settings of your editor, as the README shows',
    );
  }
  const options = { agent, config, host, isDirect, recordFile, ...made(agent, config, host, isDirect) };
  // A login may name any folder in the workspace, and finds the root when it runs.
  if (!isDirect && hasOwnSignIns(agent.name, config)) options.signIn.ownRoot = host.cwd;
  // A record begins with the first line; what a repository says of logins takes a while to find out.
  const isPlaced = () =>
    isDirect ||
    options.signIn.ownRoot !== undefined ||
    !mayHaveOwnSignIns(agent.name, config, host.cwd, host.home);
  const early = recordFile === undefined && isPlaced() ? answerEarly(options) : undefined;
  const { Connection } = await import('./connection');
  return await new Connection({ ...options, early }).run();
}

/** What both an early answer and the proxy work with. */
function made(agent: AgentCommand, config: Config, host: Host, isDirect: boolean) {
  const { state } = host.folders;
  const about = { pid: process.pid, agent: agent.name, version };
  const log = openLog(host.env, new LogFile(join(state, 'logs'), about, isAlive));
  const signIn = new SignIn({ agent: isDirect ? undefined : agent, host, log });
  const profiles = new Profiles({
    agent,
    config,
    cwd: host.cwd,
    imageName: isDirect ? undefined : imageTagOf({ agent: agent.name }),
    folder: config.sessions.persist ? join(state, 'profiles') : undefined,
    programIdentity: () => programIdentity(agent.command, host.env.PATH),
    signIn,
    log,
  });
  return { about, log, profiles, signIn, terminals: isDirect ? 'off' : config.acp.terminal } as const;
}

/**
 * Takes `--record FILE` or `--record=FILE`, the one option that is ours, out of the arguments, where it stands before
 * the agent's name or directly behind it; further on it is the agent's. Fails with `CaiError('USAGE')` without a FILE.
 */
export function takeRecordOption(args: readonly string[]): { args: readonly string[]; file?: string } {
  const index = args.slice(0, 2).findIndex((arg) => arg === '--record' || arg.startsWith('--record='));
  if (index < 0 || (index === 1 && args[0]!.startsWith('-'))) return { args };
  const [option, inOne] = args[index]!.split(/=(.*)/s);
  const file = inOne ?? args[index + 1] ?? '';
  if (file === '') throw new CaiError('USAGE', `${option!} needs a file: cai --acp --record FILE AGENT`);
  return { args: args.toSpliced(index, inOne === undefined ? 2 : 1), file };
}
