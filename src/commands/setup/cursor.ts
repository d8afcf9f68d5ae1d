/** `cai cursor`: the agent over Cursor's command line on this machine, and what that says about itself. */
import { packageFile } from '../../system/files/package-file';
import { cursorAdapter } from '../../agent/catalog';
import { runInteractive } from '../acp/agent-on-terminal';
import { declare } from '../support/command';

/** Without a word, `main.ts` starts the agent. Resolves with the exit status of the adapter. */
export const run = declare<{ json?: true }>({
  name: 'cursor',
  description: `Speaks ACP on stdin and stdout with Cursor's command line, cursor-agent, on this machine, without a container. With a
word it prints what cursor-agent and the adapter know; what Cursor does not say is null, or listed under "notTold".`,
  arguments: [['<what>', 'usage, status or models', ['usage', 'status', 'models']]],
  options: [['--json', 'the only form, and may be left out']],
  footer: '\nIn a container: cai exec -a cursor -- node /run/cai/cai-cursor status\n',
  action: async (_, host, [what = '']) => {
    const command: [string, ...string[]] = [process.execPath, packageFile(cursorAdapter.packaged), what];
    return await runInteractive({ name: 'cursor', command, remedy: 'install cai again' }, host.env);
  },
});
