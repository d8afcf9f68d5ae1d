import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { CaiError } from '../errors';
import type { AgentCommand } from './catalog';

/**
 * Runs an agent's command on this process's own terminal, as for signing in. Resolves with its exit
 * status, 128 + N when signal N ended it; rejects with `AGENT_START` when it cannot be started.
 */
export async function runInteractive(agent: AgentCommand, env: NodeJS.ProcessEnv): Promise<number> {
  const [program, ...args] = agent.command;
  return await new Promise((resolve, reject) => {
    const child = spawn(program, args, { env, stdio: 'inherit' });
    child.on('error', (error) =>
      reject(new CaiError('AGENT_START', `agent "${agent.name}" could not be started: ${error.message}`)),
    );
    child.on('exit', (code, signal) =>
      resolve(signal === null ? (code ?? 0) : 128 + constants.signals[signal]),
    );
  });
}
