/** `cai --acp` where no editor is: an agent's command, as to sign in, on our own terminal. */
import type { AgentCommand } from '../../agent/catalog';
import { runInteractive } from '../../agent/interactive';
import { execution } from '../../agent/cai-program';
import { findWorkspace } from '../../workspace/root';

/**
 * Runs the command, unless `isDirect` in the container of `cwd` if that can be a workspace, else in one without a
 * workspace. Resolves and rejects as `runInteractive`.
 */
export async function runOnTerminal(
  agent: AgentCommand,
  env: NodeJS.ProcessEnv,
  cwd: string,
  isDirect: boolean,
): Promise<number> {
  if (isDirect) return await runInteractive(agent, env);
  const isWorkspace = await findWorkspace(cwd, { env }).then(
    () => true,
    () => false,
  );
  const place = isWorkspace ? ['--workspace', cwd] : ['--no-workspace'];
  return await runInteractive(execution(agent, [...place, '--tty']), env);
}
