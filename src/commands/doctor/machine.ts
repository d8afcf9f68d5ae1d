/** What `cai doctor` looks at on this machine, without an engine. */
import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import type { Host } from '../../system/host';
import { packageFile } from '../../system/package-file';
import { engines } from '../../../package.json';
import { resolveAgent, type AgentCommand } from '../../agent/catalog';
import { clientKey, type ClientKey } from '../../container/ssh/keys';
import { mountOf, settingsOf } from '../../container/spec/settings';
import type { Settings } from '../../container/spec/spec';
import { CaiError, messageOf } from '../../errors';
import { configFileOf, type Config } from '../../config/config';
import { loadWorkspaceConfig, placeOfValue } from '../../config/effective-config';
import { outerGitFolder } from '../../workspace/git-folder';
import { quoted } from '../../system/quoted';
import { findWorkspace, foreignNotice } from '../../workspace/root';
import { stateRemedy, tryState } from '../../system/state-folder';
import { checkLinks, outgrownRoot } from '../../workspace/trust';
import type { Checks, Finding } from './checks';

/** The version that runs us, against the one that the package asks for. */
export function nodeVersion(): Finding {
  const wanted = engines.node.replace('>=', '');
  const found = process.versions.node;
  const isNewEnough = found.localeCompare(wanted, undefined, { numeric: true }) >= 0;
  if (isNewEnough) return { status: 'ok', detail: found };
  return { status: 'fail', detail: `${found} is too old`, remedy: `install Node ${wanted} or newer` };
}

/** Where commands work. */
export interface Place {
  /** Root of the workspace; `undefined`: none. */
  readonly root: string | undefined;
  /** As `foreignNotice`. */
  readonly foreign?: string | undefined;
}

/**
 * The workspace of a folder; without a folder that of the current one, if it can be in one. Nothing is
 * recorded of it. `undefined`: it cannot be used.
 */
export async function checkWorkspace(
  checks: Checks,
  folder: string | undefined,
  host: Host,
): Promise<Place | undefined> {
  let why: string | undefined;
  const look = async (): Promise<Place> => {
    const workspace = await findWorkspace(resolve(folder ?? '.'), { host }).catch((reason: unknown) => {
      const isElsewhere = folder === undefined && reason instanceof CaiError && reason.code === 'WORKSPACE';
      if (!isElsewhere) throw reason;
      why = reason.message;
    });
    if (workspace === undefined) return { root: undefined };
    await checkLinks(host.folders.state, workspace);
    const { root, cwd } = workspace;
    const recorded = outgrownRoot(host.folders.state, cwd, root);
    if (recorded === undefined) return { root, foreign: foreignNotice(workspace) };
    throw new CaiError(
      'WORKSPACE',
      `${quoted(cwd)} belonged to the workspace ${quoted(recorded)} and now leads to ${quoted(root)}: if that is right, run: cai trust ${quoted(cwd)}`,
    );
  };
  return await checks.find('workspace', look, async ({ root, foreign }) => {
    if (root === undefined) {
      return { status: 'warn', detail: why!, remedy: 'name one: cai doctor --workspace FOLDER' };
    }
    if (foreign !== undefined) return { status: 'warn', detail: foreign };
    const mount = mountOf(root, host);
    const where = mount === root ? 'under its own path' : `at ${mount}`;
    const git = await outerGitFolder(root, host);
    const beside = git === undefined ? '' : `, and its git folder ${quoted(git)}`;
    return { status: 'ok', detail: `${quoted(root)}, mounted ${where}${beside}` };
  });
}

/** The configuration of a workspace, and what follows from it. */
export interface Configured {
  /** In effect. */
  readonly config: Config;
  /** The agent that is meant. */
  readonly agent: AgentCommand;
  /** What its container is to be. */
  readonly settings: Settings;
}

/** `undefined`: it cannot be used. */
export async function checkConfiguration(
  checks: Checks,
  root: string | undefined,
  wantedAgent: string | undefined,
  authorizedKey: string,
  host: Host,
): Promise<Configured | undefined> {
  const configFile = configFileOf(host);
  let notices: readonly string[] = [];
  const look = async (): Promise<Configured> => {
    const found = loadWorkspaceConfig(host, root);
    notices = found.notices;
    const { config } = found;
    const name = wantedAgent ?? config.agent.default;
    const namedAt = () => placeOfValue(host, root, 'agent.default', name);
    const agent = resolveAgent(name, [], {
      agents: config.agents,
      isTestMode: host.env.CAI_ACP_TEST_MODE === '1',
      configFile,
      cwd: '/',
      namedAt: wantedAgent === undefined ? namedAt : undefined,
    });
    const settings = await settingsOf({
      config,
      workspace: root,
      agent: name,
      hostUser: host.user,
      authorizedKey,
      host,
      isOnlyLookedAt: true,
    });
    return { config, agent, settings };
  };
  const configured = await checks.find('configuration', look, ({ agent }) => {
    if (notices.length > 0) return { status: 'warn', detail: notices.join('\n') };
    const file = existsSync(configFile) ? configFile : `no ${configFile}, so the defaults hold`;
    return { status: 'ok', detail: `agent ${agent.name}; ${file}` };
  });
  if (configured?.config.protect.isOff === true) {
    await checks.check('protection', () => ({
      status: 'warn',
      detail: 'it is off: agents can write what programs on this machine execute, such as git hooks',
      remedy: `remove this once the task that needs it is done: ${placeOfValue(host, root, 'protect.off', true)}`,
    }));
  }
  return configured;
}

/** The folder of what is kept; none is made. Whether it can be used. */
export async function checkState(checks: Checks, host: Host): Promise<boolean> {
  let isUsable = false;
  await checks.check('state folder', () => {
    const { state } = host.folders;
    try {
      tryState(state);
    } catch (reason) {
      const detail = `${state} cannot be used, so nothing is kept, such as sessions: ${messageOf(reason)}`;
      return { status: 'fail', detail, remedy: stateRemedy(state) };
    }
    isUsable = true;
    return { status: 'ok', detail: existsSync(state) ? state : `${state}, made when it is wanted` };
  });
  return isUsable;
}

/** Our key; none is made. `hasState`: one can be. `undefined`: there is none, or it cannot be used. */
export async function checkKey(
  checks: Checks,
  hasState: boolean,
  host: Host,
): Promise<ClientKey | undefined> {
  const { state } = host.folders;
  const folder = join(state, 'ssh');
  const hasKey = existsSync(join(folder, 'id_ed25519'));
  if (!hasState && !hasKey) {
    await checks.skip(['keys'], 'this needs the state folder');
    return undefined;
  }
  const look = async () => (hasKey ? await clientKey(state) : undefined);
  return await checks.find('keys', look, (key) => {
    if (key === undefined)
      return { status: 'ok', detail: `none in ${folder} yet: the first command makes one` };
    if ((statSync(folder).mode & 0o022) === 0) return { status: 'ok', detail: `${folder}, for you alone` };
    return { status: 'fail', detail: `others can write in ${folder}`, remedy: `chmod 700 ${folder}` };
  });
}

/** Where programs are found that no shell has started. Source: login.defs(5), ENV_PATH; launchd on macOS. */
const desktopPath =
  process.platform === 'darwin' ? '/usr/bin:/bin:/usr/sbin:/sbin' : '/usr/local/bin:/usr/bin:/bin';

/**
 * Whether an editor that was started from the desktop finds `cai`, and the `node` that runs it: those of
 * version managers are in the PATH of shells only. `agent`: the one that is meant, if it can be used.
 */
export function editorPath(agent: string | undefined): Finding {
  const cai = realpathSync(packageFile('bin/cai'));
  const args = ['--acp', ...(agent === undefined ? [] : [agent])];
  const line = `${quoted(process.execPath)} with the arguments ${[cai, ...args].map(quoted).join(' ')}`;
  const found = { cai: programOnDesktop('cai'), node: programOnDesktop('node') };
  const missing = (['node', 'cai'] as const).filter((name) => found[name] === undefined);
  if (missing.length === 0 && realpathSync(found.cai!) === cai) {
    return { status: 'ok', detail: `editors find cai and node by themselves: cai ${args.join(' ')}` };
  }
  const what =
    missing.length === 0
      ? `an editor started from the desktop finds another cai: ${found.cai}`
      : `an editor started from the desktop may not find ${missing.join(' and ')} (its PATH is ${desktopPath})`;
  return { status: 'warn', detail: what, remedy: `name the whole command in its settings: ${line}` };
}

function programOnDesktop(name: string): string | undefined {
  const paths = desktopPath.split(delimiter).map((folder) => join(folder, name));
  return paths.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
