/** Start here: chooses the command and loads only its code, because an editor waits. */
import { version } from '../package.json';
import { signInToken } from './agent/sign-in-argument';
import * as errors from './errors';
import { allPrinted, endWithReader } from './system/streams/printed';
import { printable } from './system/quoted';
import { Host } from './system/host';
import { hostOf } from './system/paths/search-path';

/** What `bin/cai` hands to the other bundles as their `errors.ts`. */
export const sharedErrors = errors;

/** The arguments are those behind the program's name; resolves with the exit status. */
export async function main(args: readonly string[], host = hostOf(process.env)): Promise<number> {
  const [command = '--help', ...rest] = args;
  try {
    const token = signInToken(args);
    if (token === undefined && isAcp(command) && !wantsHelp(rest))
      return await (await import('./commands/acp/acp')).run(rest, host);
    if (command === 'cursor' && !/^(usage|status|models|--help|-h)$/.test(rest[0] ?? ''))
      return await (await import('./commands/acp/acp')).run(['cursor', ...rest], direct(host));
    endWithReader();
    const status = await runCommand(command, rest, host, token).catch(report);
    // What an editor does not take any more, that command gives up itself.
    if (command !== 'connect') await allPrinted();
    return status;
  } catch (error) {
    return report(error);
  }
}

const isAcp = (command: string): boolean => command === '--acp' || command === 'acp';
const wantsHelp = ([first]: readonly string[]): boolean => first === '--help' || first === '-h';

/** What is not for an editor that waits. `token`: of a sign-in. */
async function runCommand(
  command: string,
  rest: readonly string[],
  host: Host,
  token?: string,
): Promise<number> {
  if (['--version', '-V', '-v', 'version'].includes(command)) {
    process.stdout.write(`cai ${version}\n`);
    return 0;
  }
  const commands = await import('./commands/commands');
  if (token !== undefined) return await commands.run('terminal', [token], host);
  if (command === 'help' && rest[0] !== undefined && !wantsHelp(rest))
    return await runCommand(rest[0], ['--help'], host);
  if (isAcp(command) || ['--help', '-h', 'help'].includes(command)) return commands.help();
  return await commands.run(command, rest, host);
}

/** Agents are programs of this machine. */
function direct({ env, cwd }: Host): Host {
  return new Host({ ...env, CAI_ACP_DIRECT_SPAWN: '1' }, cwd);
}

/** Says on stderr what ended the command; returns its exit status. A bug keeps its stack. */
function report(thrown: unknown): number {
  const isWithoutFolder = (thrown as { readonly syscall?: unknown } | undefined)?.syscall === 'uv_cwd';
  const gone = 'the current folder is gone: go to another one';
  const error = isWithoutFolder ? new errors.CaiError('WORKSPACE', gone) : thrown;
  if (!(error instanceof errors.CaiError)) throw error;
  const prefix = error.code === 'UNSUPPORTED_AGENT' ? '' : 'cai: ';
  process.stderr.write(`${prefix}${printable(error.message)}\n`);
  return error.exitCode;
}
