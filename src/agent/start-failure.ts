/** Why an agent's program could not even be started, for whoever wanted it. */
import { existsSync } from 'node:fs';
import { CaiError } from '../errors';
import type { AgentCommand } from './catalog';

/** For what `spawn` has failed with, in the folder `cwd`: an `AGENT_START` that says what to do. */
export function startFailure(agent: AgentCommand, cwd: string, error: NodeJS.ErrnoException): CaiError {
  const { name, command, remedy } = agent;
  const program = `"${command[0]}"`;
  const causes: Readonly<Record<string, string>> = {
    ENOENT: existsSync(cwd) ? `${program} was not found: ${remedy}` : `the folder ${cwd} is gone`,
    EACCES: `${program} may not be executed: make it executable (chmod +x), or correct the command`,
  };
  const cause = causes[error.code ?? ''] ?? `${program}: ${error.message}`;
  return new CaiError('AGENT_START', `agent "${name}" could not be started: ${cause}`);
}
