/**
 * Start here: which command is it? `--acp` is looked for first, and each command's code is loaded only
 * when it is wanted, because an editor waits for this process at every start.
 */
import { delimiter } from 'node:path';
import { signInToken } from './sign-in/sign-in-argument';
import type { CaiError } from './errors';
import { printable } from './system/quoted';
import { projectAround, searchFolders } from './paths/search-path';

/** The arguments are those behind the program's name; resolves with the exit status. */
export async function main(args: readonly string[]): Promise<number> {
  process.env.PATH = safePath().join(delimiter);
  const [command, ...rest] = args;
  const isAcp = command === '--acp' || command === 'acp';
  const wantsHelp = rest[0] === '--help' || rest[0] === '-h';
  try {
    const token = signInToken(args);
    if (token !== undefined) return await (await import('./commands/registry')).run('terminal', [token]);
    if (isAcp && !wantsHelp) return await (await import('./commands/acp/acp')).run(rest);
    if (isAcp) return (await import('./commands/help')).run();
    if (command === 'help' && rest[0] !== undefined && !wantsHelp) return await main([rest[0], '--help']);
    switch (command) {
      case '--version':
      case '-V':
      case '-v':
      case 'version':
        return (await import('./commands/help')).showVersion();
      case '--help':
      case '-h':
      case 'help':
      case undefined:
        return (await import('./commands/help')).run();
      default:
        return await (await import('./commands/registry')).run(command, rest);
    }
  } catch (error) {
    return report(error);
  }
}

/** PATH without folders that an agent can write to: we may have been started in one. */
function safePath(): string[] {
  const { CAI_ACP_DIRECT_SPAWN, HOME = '/', PATH } = process.env;
  // The agent is a program of the user then, and may be one of the project.
  if (CAI_ACP_DIRECT_SPAWN === '1') return searchFolders(PATH);
  return searchFolders(PATH, projectAround(currentFolder(), HOME));
}

/** A folder that is gone holds no programs either. */
function currentFolder(): string {
  try {
    return process.cwd();
  } catch {
    return '/';
  }
}

/** Says on stderr what ended the command; returns its exit status. A bug keeps its stack. */
function report(error: unknown): number {
  if (!isFailure(error)) throw error;
  const prefix = error.code === 'UNSUPPORTED_AGENT' ? '' : 'cai: ';
  process.stderr.write(`${prefix}${printable(error.message)}\n`);
  return error.exitCode;
}

/** Each command is bundled by itself, so its `CaiError` is a class of its own. */
function isFailure(error: unknown): error is CaiError {
  return error instanceof Error && error.name === 'CaiError';
}
