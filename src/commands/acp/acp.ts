/**
 * `cai --acp`: the proxy on stdin and stdout, where nothing but ACP lines is written. What an editor waits for comes
 * first: all that is imported here is loaded before `initialize` is answered, everything else after that.
 */
import { Host } from '../../system/host';
import { keepHeapSmall } from '../support/small-heap';
import { CaiError } from '../../errors';
import { mayHaveOwnSignIns } from '../../agent/own-sign-ins';
import { endSignals } from '../support/end-signals';
import { chooseAgent, commonOptions } from './common-options';
import { answerEarly } from './early-answer';

/** Runs the proxy until the editor is gone; resolves with the exit status. */
export async function run(args: readonly string[], given: Host): Promise<number> {
  const host = new Host({ ...given.env, CAI_NO_UPDATE_CHECK: '1' });
  const {
    args: [name, ...agentArgs],
    file: recordFile,
  } = takeRecordOption(args);
  const chosen = chooseAgent(name, agentArgs, host);
  const { agent, config, isDirect } = chosen;
  if (host.isOnTerminal) {
    if (agentArgs.length > 0)
      return await (await import('./agent-on-terminal')).runOnTerminal(agent, host, isDirect);
    throw new CaiError(
      'USAGE',
      'this is for an editor to start, not for a terminal: put it into the settings of your editor, as the README shows',
    );
  }
  const options = { ...commonOptions(chosen, host), recordFile };
  // A record begins with the first line; what a repository says of logins takes a while to find out.
  const isPlaced = () =>
    isDirect ||
    options.signIn.ownRoot !== undefined ||
    !mayHaveOwnSignIns(agent.name, config, host.cwd, host.home);
  const early = recordFile === undefined && isPlaced() ? answerEarly(options) : undefined;
  const { Connection } = await import('./connection');
  keepHeapSmall();
  const connection = new Connection({ ...options, early }, process.stdin, process.stdout);
  // As the end of its input, but without waiting.
  for (const signal of endSignals) process.on(signal, () => connection.end());
  // A bug: the agents must not outlive it, and what is open is still answered.
  process.on('uncaughtException', (error) => {
    options.log.error({ err: error }, 'internal error: the connection is ended');
    connection.end(1);
  });
  return await connection.run();
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
