/** `cai setup` without an editor: from the engine to a first turn. Each step is a command that people can also run alone. */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { loadConfig } from '../../config/config';
import { CaiError } from '../../errors';
import { SignIns, signInOf } from '../../network';
import type { Host } from '../../system/host';
import { chosenAgent } from '../containers/target';
import { runChecks, type Facts } from '../doctor/checks';
import { lineOf } from '../doctor/doctor';
import { context, engine, image } from '../doctor/engine';
import { configuration, node, workspace } from '../doctor/machine';
import { confirm, paintFor, tell } from '../support/terminal';
import { editors, settingsOf } from './editors';

/**
 * Resolves with 0 at the end, with 1 where something has to be mended first. Rejects with `USAGE` where no terminal is.
 * `setUp` writes an editor's settings.
 */
export async function guide(
  named: string | undefined,
  host: Host,
  setUp: (editor: string, agent: string) => number,
): Promise<number> {
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new CaiError('USAGE', `name an editor: cai setup ${Object.keys(editors).join(', ')} or neovim`);
  const config = loadConfig(host);
  const { name: agent } = chosenAgent(named, config, host);
  const isDirect = host.env.CAI_ACP_DIRECT_SPAWN === '1';
  if (!isDirect && !(await hasImage(agent, host))) return 1;
  const canSignIn = !isDirect && signInOf(agent, config) !== undefined;
  const kept = new SignIns(host, { agent, workspace: undefined, isForAll: true });
  if (canSignIn && kept.outline() === undefined && (await ask(`Sign in to ${agent} now?`))) {
    const status = await (await import('../run/login')).run([agent], host);
    if (status !== 0) return status;
  }
  for (const [word, editor] of editorsOf(host))
    if (
      await ask(
        `Write how it starts ${agent} into the settings of ${editor.name}, ${settingsOf(editor, host)}?`,
      )
    )
      setUp(word, agent);
  tell(`for Neovim, "cai setup neovim --agent ${agent}" prints what belongs into its configuration`);
  if (await ask(`Have a first turn with ${agent} here?`))
    return await (await import('../try/try')).run([agent], host);
  tell(`that is all: choose "(cai)" in your editor's list of agents, or run "cai try ${agent}"`);
  return 0;
}

const ask = async (question: string): Promise<boolean> => await confirm(question, 'nobody can be asked');

/** Whether there is an image at the end; checks that come before it say what is missing. */
async function hasImage(agent: string, host: Host): Promise<boolean> {
  const facts: Facts = { host, wanted: { agent } };
  const looks = { node, workspace, configuration, context, engine, image };
  const paint = paintFor(host, process.stderr);
  const checks = await runChecks(Object.entries(looks), facts, (check) => {
    process.stderr.write(lineOf(check, paint));
  });
  if (facts.engine === undefined || facts.configured === undefined) {
    tell('mend what has failed, then run "cai setup" again; "cai try --mock" shows a turn without an engine');
    return false;
  }
  if (facts.image !== undefined) return true;
  const canBuild = checks.some(({ name, status }) => name === 'image' && status === 'warn');
  if (!canBuild || !(await ask(`Build the image of ${agent} now? It takes minutes.`))) return canBuild;
  return (await (await import('../containers/build')).run([agent], host)) === 0;
}

/** The editors whose folder for settings is there. */
function editorsOf(host: Host) {
  const found = Object.entries(editors).filter(([, editor]) => existsSync(dirname(settingsOf(editor, host))));
  if (found.length === 0) tell('no settings of an editor were found: "cai setup EDITOR" writes some');
  return found;
}
