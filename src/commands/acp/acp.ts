/**
 * `cai --acp [agent] [agent args...]`: the proxy on stdin and stdout. stdout carries ACP lines and
 * nothing else; whatever else is to be said goes to stderr. What an editor waits for comes first: everything
 * that is imported here is loaded before `initialize` is answered, everything else after that.
 */
import { join } from 'node:path';
import { Host } from '../../system/host';
import { version } from '../../../package.json';
import { Profiles } from '../../profiles/profiles';
import { SignIn } from '../../sign-in/sign-in';
import { resolveAgent } from '../../agent/catalog';
import { isAlive } from '../../system/process-identity';
import { programIdentity } from '../../agent/program-identity';
import { imageTagOf } from '../../container/image/image-tag';
import { CaiError } from '../../errors';
import { openLog } from '../../system/log';
import { LogFile } from '../../system/log-file';
import { configFileOf, loadConfig } from '../../config/config';
import { mayHaveOwnData } from '../../config/workspace-data';
import { answerEarly } from './early-answer';
import { takeRecordOption } from './record-option';

/** Runs the proxy until the editor is gone; resolves with the exit status. */
export async function run(args: readonly string[], given: Host): Promise<number> {
  const host = new Host({ ...given.env, CAI_NO_UPDATE_CHECK: '1' });
  const config = loadConfig(host);
  const { args: named, file: recordFile } = takeRecordOption(args);
  const [name = config.agent.default, ...agentArgs] = named;
  const isDirect = host.env.CAI_ACP_DIRECT_SPAWN === '1';
  const { cwd } = host;
  const agent = resolveAgent(name, agentArgs, {
    agents: config.agents,
    isTestMode: host.env.CAI_ACP_TEST_MODE === '1',
    configFile: configFileOf(host),
    cwd,
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
  const { state } = host.folders;
  const about = { pid: process.pid, agent: agent.name, version };
  const log = openLog(host.env, new LogFile(join(state, 'logs'), about, isAlive));
  const signIn = new SignIn({ agent: isDirect ? undefined : agent, host, log });
  const profiles = new Profiles({
    agent,
    config,
    cwd,
    imageName: isDirect ? undefined : imageTagOf({ agent: agent.name }),
    folder: config.sessions.persist ? join(state, 'profiles') : undefined,
    programIdentity: () => programIdentity(agent.command, host.env.PATH),
    signIn,
    log,
  });
  const options = {
    about,
    agent,
    config,
    cwd,
    host,
    isDirect,
    log,
    profiles,
    recordFile,
    signIn,
    terminals: isDirect ? 'off' : config.acp.terminal,
  } as const;
  // A record begins with the first line; a login for one workspace needs to know which that is.
  const canAnswer = recordFile === undefined && (isDirect || !mayHaveOwnData(config, cwd, host.home));
  const early = canAnswer ? answerEarly(options) : undefined;
  const { Connection } = await import('./connection');
  return await new Connection({ ...options, early }).run();
}
