/** Commands by which this program starts itself. */
import { join } from 'node:path';
import type { AgentCommand } from '../agent/catalog';

/** Our own program with arguments, whatever PATH says. */
export function ownProgram(args: readonly string[]): [string, ...string[]] {
  return [process.execPath, join(__dirname, '../../bin/cai'), ...args];
}

/** The command that runs an agent in a container; `options` are those of `cai exec`. */
export function execution(agent: AgentCommand, options: readonly string[]): AgentCommand {
  const args = ['exec', '--agent', agent.name, ...options, '--', ...agent.command];
  return { ...agent, command: ownProgram(args) };
}
