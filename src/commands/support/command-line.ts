/** How the commands that have options of their own read them, and how they explain themselves. */
import { Command, CommanderError } from 'commander';
import { CaiError } from '../../errors';

/**
 * `cai NAME`, to which the caller adds arguments and options. Its help goes to stdout, wrapped to the terminal
 * wherever the lines of `description` end.
 */
export function commandLine(name: string, description: string): Command {
  return new Command(`cai ${name}`)
    .description(description.replaceAll('\n', ' '))
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
    .showSuggestionAfterError()
    .helpOption('-h, --help', 'show this help');
}

/**
 * Reads `args` and runs `action`; resolves with its exit status, or with 0 if help was asked for. Rejects
 * with `CaiError('USAGE')` for arguments that do not fit.
 */
export async function runCommandLine(
  command: Command,
  args: readonly string[],
  action: () => Promise<number>,
): Promise<number> {
  try {
    command.parse(args, { from: 'user' });
  } catch (reason) {
    if (!(reason instanceof CommanderError)) throw reason;
    if (reason.exitCode === 0) return 0;
    const what = reason.message.replace(/^error: |\.$/g, '').replaceAll('\n', ' ');
    throw new CaiError('USAGE', `${what}: see "${command.name()} --help"`);
  }
  return await action();
}
