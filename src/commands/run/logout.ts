/** `cai logout`: signs out of an agent, by its own command or by removing what it keeps of the sign-in. */
import { posix } from 'node:path';
import type { Host } from '../../system/host';
import { loadConfig } from '../../config/config';
import { loadWorkspaceConfig } from '../../config/effective-config';
import { forgetSignIns, SignIns } from '../../network';
import { CaiError } from '../../errors';
import { agentHome } from '../../workspace/mount';
import { quoted } from '../../system/quoted';
import { declare } from '../support/command';
import { namedRoot } from '../support/named-root';
import { confirm } from '../support/terminal';
import { chosenAgent } from '../containers/target';
import { runInContainer } from './exec';
import { accountArguments, accountOptions, placeOf, signInCommands, type AccountOptions } from './login';

interface Options extends AccountOptions {
  readonly yes?: true;
}

/** Resolves with the exit status of the agent's command; with 1 if the user does not want it after all. */
export const run = declare<Options>({
  name: 'logout',
  description: `Signs out of an agent, in all workspaces that share its sign-in: by its own command, which runs in a
container, or, if it has none, by removing the files that hold the sign-in. What is kept of it outside of containers is
forgotten.`,
  arguments: accountArguments,
  options: [...accountOptions, ['-y, --yes', 'remove files without asking']],
  footer: `
Exit status: that of the agent's command; otherwise as for "cai exec". An API key that you have entered in an editor
stays there.`,
  action: (options, host, [agent]) => signOut(agent!, options, host),
});

async function signOut(named: string, options: Options, host: Host): Promise<number> {
  const { name: agent } = chosenAgent(named, loadConfig(host), host);
  const commands = signInCommands(agent);
  const files = commands?.credentials?.map((name) => posix.join(agentHome, name));
  if (commands?.logout === undefined && files === undefined)
    throw new CaiError(
      'USAGE',
      `how to sign out of ${quoted(agent)} is not known: run its own command in "cai shell", or remove all that it keeps with "cai rm --volumes"`,
    );
  const place = await placeOf(agent, options, host);
  const target = { agent, env: [], ...place, signsInForAll: place.workspace === false };
  const what = `${agent} has no command to sign out; this removes what it keeps of the sign-in: ${files?.join(', ')}.`;
  const isAgreed = files === undefined || options.yes === true;
  if (!isAgreed && !(await confirm(`${what} Go on?`, `${what} Use --yes to agree.`))) return 1;
  try {
    return files === undefined
      ? await runInContainer(commands!.logout!, { ...target, tty: host.isOnTerminal }, host)
      : await runInContainer(['rm', '-f', '--', ...files], target, host);
  } finally {
    await forget(agent, place.workspace ?? '.', host);
  }
}

/** Forgets what is kept outside of containers, whatever the agent's command has done. */
async function forget(agent: string, folder: string | false, host: Host): Promise<void> {
  const workspace = folder === false ? undefined : await namedRoot(folder, host);
  const isForAll =
    workspace === undefined || loadWorkspaceConfig(host, workspace).config.agent.data === 'shared';
  if (isForAll) await forgetSignIns(host, agent);
  else await new SignIns(host, { agent, workspace, isForAll }).own.keep(undefined);
}
