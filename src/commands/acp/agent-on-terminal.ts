/** `cai --acp` where no editor is: an agent's command, as to sign in, on our own terminal. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import type { Host } from '../../system/host';
import { startFailure } from '../../agent/agent-end';
import type { AgentCommand } from '../../agent/catalog';
import { execution } from '../../agent/cai-program';
import { workspaceIfAny } from '../support/named-root';

/**
 * Runs the command in the container of the current folder, or in one without a workspace; with `isDirect` outside of
 * containers.
 */
export async function runOnTerminal(agent: AgentCommand, host: Host, isDirect: boolean): Promise<number> {
  if (isDirect) return await runInteractive(agent, { ...agent.env, ...host.env });
  const { cwd } = host;
  const isWorkspace = (await workspaceIfAny(cwd, host)) !== undefined;
  const place = isWorkspace ? ['--workspace', cwd] : ['--no-workspace'];
  return await runInteractive(execution(agent, [...place, '--tty']), host.env);
}

/** Resolves with the exit status, 128 + N when signal N ended the command; rejects with `AGENT_START`. */
export async function runInteractive(
  agent: Pick<AgentCommand, 'name' | 'command' | 'remedy'>,
  env: NodeJS.ProcessEnv,
): Promise<number> {
  const [program, ...args] = agent.command;
  // Ctrl+C is for the command, whose end then is ours, too.
  const ignore = (): void => undefined;
  const signals = ['SIGINT', 'SIGQUIT'] as const;
  for (const signal of signals) process.on(signal, ignore);
  try {
    const child = spawn(program, args, { env, stdio: 'inherit' });
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    return signal === null ? (code ?? 0) : 128 + constants.signals[signal];
  } catch (error) {
    throw startFailure(agent, { cwd: '.', env }, error as NodeJS.ErrnoException);
  } finally {
    for (const signal of signals) process.off(signal, ignore);
  }
}
