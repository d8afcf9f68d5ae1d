/** `cai terminal TOKEN`: what editors run for agents, which is a command in the agent's container. */
import { hostVariables, takeToken } from '../../agent/editor-token';
import type { TerminalOrder } from '../../agent/editor-token';
import { isRunning } from '../../system/process-identity';
import { CaiError } from '../../errors';
import { runInContainer } from './exec';

/** Resolves with the exit status of the command. Rejects with `CaiError('USAGE')` without a token that is good. */
export async function run(args: readonly string[]): Promise<number> {
  const [token, ...more] = args;
  if (token === undefined || more.length > 0)
    throw new CaiError(
      'USAGE',
      '"cai terminal TOKEN" is for editors: it runs what an agent has asked for, in its container; to run a command yourself, use "cai exec COMMAND"',
    );
  const order = takeToken(process.env, token);
  useEnvironmentOf(order);
  if (order.kind === 'login') return await (await import('./login')).runLogin(order);
  const { wantedBy } = order;
  if (wantedBy !== undefined && isRunning(wantedBy) === false)
    throw new CaiError('USAGE', 'the agent that asked for this terminal is gone: ask it again');
  const [program, ...rest] = order.argv;
  if (program === undefined) throw new CaiError('USAGE', 'this terminal has no command: ask the agent again');
  // What people write in such a line is what bash understands; every image of ours has it.
  return await runInContainer(order.shell === true ? ['bash', '-c', program] : [program, ...rest], {
    workspace: order.workspace ?? false,
    agent: order.agent,
    quiet: true,
    env: order.env.map(([name, value]) => `${name}=${value}`),
    ...(order.cwd !== undefined && { cwd: order.cwd }),
    tty: process.stdin.isTTY && process.stdout.isTTY,
    endsOnSignal: true,
    ...(wantedBy !== undefined && { wantedBy }),
  });
}

/** The engine and folders are those of whoever wrote the order, wherever the editor runs it. */
function useEnvironmentOf({ host = {} }: TerminalOrder): void {
  for (const name of Object.keys(process.env))
    if (hostVariables.test(name)) Reflect.deleteProperty(process.env, name);
  Object.assign(process.env, host);
}
