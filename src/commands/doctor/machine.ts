/** What `cai doctor` looks at on this machine, without an engine. */
import { existsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { engines } from '../../../package.json';
import { clientKey } from '../../container/ssh/keys';
import { settingsOf } from '../../container/spec/settings';
import { mountOf } from '../../workspace/mount';
import { Secret, decisionsOf } from '../../network';
import { CaiError, messageOf } from '../../errors';
import { configFileOf } from '../../config/config';
import { loadWorkspaceConfig, placeOfValue } from '../../config/effective-config';
import { outerGitFolder } from '../../workspace/outer-git';
import { quoted } from '../../system/quoted';
import { findWorkspace, rootNotice } from '../../workspace/root';
import { stateRemedy, tryState } from '../../system/state-folder';
import { checkLinks, checkRoot } from '../../workspace/trust';
import { chosenAgent } from '../containers/target';
import { desktopProblem, wholeCommand } from '../support/editor-command';
import { fail, ok, warn, need, Skipped, type Facts, type Finding } from './checks';

/** The version that runs us, against the one that the package asks for. */
export function node(): Finding {
  const wanted = engines.node.replace('>=', '');
  const found = process.versions.node;
  const isNewEnough = found.localeCompare(wanted, undefined, { numeric: true }) >= 0;
  if (isNewEnough) return ok(found);
  return fail(`${found} is too old`, `install Node ${wanted} or newer`);
}

/** The workspace of a folder; without a folder that of the current one, if it can be in one. Records nothing. */
export async function workspace(facts: Facts): Promise<Finding> {
  const { host, wanted } = facts;
  const found = await findWorkspace(resolve(wanted.workspace ?? '.'), { host }).catch((reason: unknown) => {
    const isElsewhere = reason instanceof CaiError && reason.code === 'WORKSPACE';
    if (wanted.workspace === undefined && isElsewhere) return reason.message;
    throw reason;
  });
  if (typeof found === 'string') {
    facts.place = { root: undefined };
    return warn(found, 'name one: cai doctor --workspace FOLDER');
  }
  const { root } = found;
  await checkLinks(host.folders.state, found);
  checkRoot(host.folders.state, found, true);
  facts.place = { root };
  const foreign = rootNotice(found);
  if (foreign !== undefined) return warn(foreign);
  const mount = mountOf(root, host);
  const where = mount === root ? 'under its own path' : `at ${mount}`;
  const git = await outerGitFolder(root, host);
  const beside = git === undefined ? '' : `, and its git folder ${quoted(git.folder)}`;
  return ok(`${quoted(root)}, mounted ${where}${beside}`);
}

/** The folder of what is kept; none is made. */
export function stateFolder(facts: Facts): Finding {
  const { state } = facts.host.folders;
  try {
    tryState(state);
  } catch (reason) {
    const detail = `${state} cannot be used, so nothing is kept, such as sessions: ${messageOf(reason)}`;
    return fail(detail, stateRemedy(state));
  }
  facts.hasState = true;
  return ok(existsSync(state) ? state : `${state}, made when it is wanted`);
}

/** Our key; none is made. */
export async function keys(facts: Facts): Promise<Finding> {
  const { state } = facts.host.folders;
  const folder = join(state, 'ssh');
  if (!existsSync(join(folder, 'id_ed25519'))) {
    if (facts.hasState === undefined) throw new Skipped('this needs the state folder');
    return ok(`none in ${folder} yet: the first command makes one`);
  }
  facts.key = await clientKey(state);
  if ((statSync(folder).mode & 0o022) === 0) return ok(`${folder}, for you alone`);
  return fail(`others can write in ${folder}`, `chmod 700 ${folder}`);
}

/** The configuration of the workspace, the agent that is meant, and what follows from them for its container. */
export async function configuration(facts: Facts): Promise<Finding> {
  const { host, wanted, place, key } = facts;
  const configFile = configFileOf(host);
  const { config, notices } = loadWorkspaceConfig(host, place?.root);
  const agent = chosenAgent(wanted.agent, config, host, place?.root);
  const settings = await settingsOf({
    config,
    workspace: place?.root,
    agent: agent.name,
    authorizedKey: key?.publicKey ?? '',
    host,
  });
  facts.configured = { config, agent, settings };
  if (notices.length > 0) return warn(notices.join('\n'));
  const file = existsSync(configFile) ? configFile : `no ${configFile}, so the defaults hold`;
  return ok(`agent ${agent.name}; ${file}`);
}

/** Said only where it is off. */
export function protection({ host, place, configured }: Facts): Finding | undefined {
  if (configured?.config.protect.isOff !== true) return undefined;
  return warn(
    'it is off: agents can write what programs on this machine execute, such as git hooks',
    `remove this once the task that needs it is done: ${placeOfValue(host, place?.root, 'protect.off', true)}`,
  );
}

/** How containers reach other machines, and where to look when something cannot connect. */
export function network(facts: Facts): Finding {
  const { host, place } = facts;
  const { egress } = need(facts, 'configured').config.network;
  const mode = `egress = ${quoted(egress)}`;
  if (egress === 'open') {
    const detail = `${mode}: containers reach whatever this machine reaches, and nobody is asked`;
    const setting = placeOfValue(host, place?.root, 'network.egress', egress);
    return warn(detail, `remove this to be asked about hosts: ${setting}`);
  }
  const { fault } = decisionsOf(host.folders.state, place?.root);
  if (fault !== undefined) return fail(fault);
  return ok(`${mode}; what could not connect, and why: cai network log`);
}

/** What the name of a variable has that holds a key. */
const keyName = /(^|_)(API_?KEY|KEY|TOKEN|SECRET|PASSWORD)(_|$)/i;

/** Whether the keys can be had that stay on this machine, and which ones do not stay here. */
export async function credentials(facts: Facts): Promise<Finding> {
  const { config } = need(facts, 'configured');
  const faults = await Promise.all(
    config.credentials.map((each) =>
      new Secret(each, facts.host).key().then(
        () => [],
        (reason: unknown) => [messageOf(reason)],
      ),
    ),
  );
  const [fault] = faults.flat();
  if (fault !== undefined) return fail(fault, 'put it there, or correct "from" in [[credentials]]');
  const inside = config.env.import.filter((name) => keyName.test(name));
  if (inside.length > 0)
    return warn(
      `agents have what is in ${inside.join(', ')}, and can send it away`,
      'use [[credentials]] instead of [env] import: see docs/keys.md',
    );
  const names = config.credentials.map((each) => each.for);
  return ok(names.length === 0 ? 'no keys are put in' : `put in on the way out: ${names.join(', ')}`);
}

/** Whether an editor from the desktop finds `cai` and `node`. */
export function editor({ configured, host }: Facts): Finding {
  const args = ['--acp', ...(configured === undefined ? [] : [configured.agent.name])];
  const problem = desktopProblem();
  if (problem === undefined) return ok(`editors find cai and node by themselves: cai ${args.join(' ')}`);
  const { command, args: whole } = wholeCommand(args, host);
  const line = `${quoted(command)} with the arguments ${whole.map(quoted).join(' ')}`;
  return warn(problem, `name the whole command in its settings: ${line}`);
}
