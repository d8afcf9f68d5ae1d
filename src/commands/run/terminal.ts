/** `cai terminal TOKEN`: what editors run for agents, which is a command in the agent's container. */
import { Host } from '../../system/host';
import { hostVariables, takeToken, type TerminalOrder } from '../../agent/editor-token';
import { isRunning } from '../../system/process-identity';
import { CaiError } from '../../errors';
import { runInContainer, type ExecOptions } from './exec';

/** Resolves with the exit status of the command. Rejects with `CaiError('USAGE')` without a token that is good. */
export async function run(args: readonly string[], ours: Host): Promise<number> {
  const [token, ...more] = args;
  if (token === undefined || more.length > 0)
    throw new CaiError(
      'USAGE',
      '"cai terminal TOKEN" is for editors: it runs what an agent has asked for, in its container; to run a command yourself, use "cai exec COMMAND"',
    );
  const order = takeToken(ours, token);
  const host = hostOf(order, ours);
  if (order.kind === 'login') return await (await import('./login')).runLogin(order, host);
  const { wantedBy } = order;
  if (wantedBy !== undefined && isRunning(wantedBy) === false)
    throw new CaiError('USAGE', 'the agent that asked for this terminal is gone: ask it again');
  const [program, ...rest] = order.argv;
  if (program === undefined) throw new CaiError('USAGE', 'this terminal has no command: ask the agent again');
  // What people write in such a line is what bash understands; every image of ours has it.
  const argv: [string, ...string[]] = order.shell === true ? ['bash', '-c', program] : [program, ...rest];
  const options: ExecOptions = {
    workspace: order.workspace ?? false,
    agent: order.agent,
    quiet: true,
    env: order.env.map(([name, value]) => `${name}=${value}`),
    ...(order.cwd !== undefined && { cwd: order.cwd }),
    tty: host.isOnTerminal,
    endsOnSignal: true,
    ...(wantedBy !== undefined && { wantedBy }),
  };
  return await runInContainer(argv, options, host);
}

/** The engine and folders are those of whoever wrote the order, wherever the editor runs it. */
function hostOf({ host = {} }: TerminalOrder, { env }: Host): Host {
  const others = Object.entries(env).filter(([name]) => !hostVariables.test(name));
  return new Host({ ...Object.fromEntries(others), ...host });
}
