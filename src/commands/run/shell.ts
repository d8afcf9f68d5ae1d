/** `cai shell`: a shell in the container of a workspace. */
import { CaiError } from '../../errors';
import { commandLine, runCommandLine } from '../support/command-line';
import { runInContainer } from './exec';
import { withTargetOptions } from '../containers/target';
import type { TargetOptions } from '../containers/target';

const description = `Opens a shell in the container of a workspace, which is made and started when needed. It has the
environment that commands and agents have.`;

/** Resolves with the exit status of the shell. Rejects with `CaiError('USAGE')` without a terminal. */
export async function run(args: readonly string[]): Promise<number> {
  const command = withTargetOptions(commandLine('shell', description));
  return await runCommandLine(command, args, async () => {
    if (!process.stdin.isTTY || !process.stdout.isTTY) {
      throw new CaiError(
        'USAGE',
        'a shell needs a terminal on stdin and stdout: without one, run a command: cai exec -- COMMAND',
      );
    }
    // No login shell: /etc/profile would set another PATH than the image has.
    return await runInContainer(['bash', '-i'], { ...command.opts<TargetOptions>(), env: [], tty: true });
  });
}
