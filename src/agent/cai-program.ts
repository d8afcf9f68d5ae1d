/** Commands by which this program starts itself. */
import { packageFile } from '../system/files/package-file';
import type { AgentCommand } from './catalog';

/** A command that starts our own program: the `node` that runs us, our script, the arguments. PATH does not count. */
export function ownProgram<Args extends readonly string[]>(
  args: readonly [...Args],
): [string, string, ...Args] {
  return [process.execPath, packageFile('bin/cai'), ...args];
}

/** The command that runs an agent in a container; `options` are for `cai exec`. */
export function execution(agent: AgentCommand, options: readonly string[]): AgentCommand {
  const args = ['exec', '--agent', agent.name, ...options, '--', ...agent.command];
  return { ...agent, command: ownProgram(args) };
}
