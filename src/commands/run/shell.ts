/** `cai shell`: a shell in the container of a workspace. */
import { CaiError } from '../../errors';
import { declare } from '../support/command';
import { runInContainer } from './exec';
import { targetOptions, type TargetOptions } from '../containers/target';

/** Resolves with the exit status of the shell. Rejects with `CaiError('USAGE')` without a terminal. */
export const run = declare<TargetOptions>({
  name: 'shell',
  description: `Opens a shell in the container of a workspace, which is made and started when needed. It has the
environment that commands and agents have.`,
  options: targetOptions,
  action: async (options, host) => {
    if (!host.isOnTerminal)
      throw new CaiError(
        'USAGE',
        'a shell needs a terminal on stdin and stdout: without one, run a command: cai exec -- COMMAND',
      );
    // No login shell: /etc/profile would set another PATH than the image has.
    return await runInContainer(['bash', '-i'], { ...options, env: [], tty: true }, host);
  },
});
