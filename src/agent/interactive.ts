import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { CaiError, messageOf } from '../errors';
import type { AgentCommand } from './catalog';

/**
 * Runs an agent's command on this process's own terminal, as for signing in. Resolves with its exit
 * status, 128 + N when signal N ended it; rejects with `AGENT_START` when it cannot be started.
 */
export async function runInteractive(agent: AgentCommand, env: NodeJS.ProcessEnv): Promise<number> {
  const [program, ...args] = agent.command;
  try {
    const child = spawn(program, args, { env, stdio: 'inherit' });
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    return signal === null ? (code ?? 0) : 128 + constants.signals[signal];
  } catch (error) {
    throw new CaiError('AGENT_START', `agent "${agent.name}" could not be started: ${messageOf(error)}`);
  }
}
