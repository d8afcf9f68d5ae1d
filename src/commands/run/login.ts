/** `cai login`: signs in to an agent, by its own command, in its container. */
import { spawn } from 'node:child_process';
import type { Host } from '../../system/host';
import { catalog, type SignInCommands } from '../../agent/catalog';
import type { TerminalOrder } from '../../agent/editor-token';
import type { SshConnection } from '../../container/ssh/ssh';
import { ContainerBrowser } from '../../container/ssh/browser';
import { PortMirror } from '../../container/ssh/port-mirror';
import { CaiError } from '../../errors';
import { loadConfig } from '../../config/config';
import { loadWorkspaceConfig } from '../../config/effective-config';
import { ownValue } from '../../config/own-property';
import { hasOwnSignIns } from '../../agent/own-sign-ins';
import { safeProgram } from '../../system/paths/safe-program';
import { printable, quoted } from '../../system/quoted';
import { findCheckedWorkspace } from '../../workspace/trust';
import { common, declare } from '../support/command';
import { workspaceIfAny } from '../support/named-root';
import { runInContainer } from './exec';
import { chosenAgent, type TargetOptions } from '../containers/target';

export interface AccountOptions extends Pick<TargetOptions, 'context' | 'fresh' | 'quiet'> {
  readonly workspace?: string;
}

/** The first argument of `cai login` and `cai logout`. */
export const accountArguments = [['<agent>', 'name of the agent']] as const;

export const accountOptions = [
  [
    '-w, --workspace <folder>',
    'for this workspace alone, in its container (default: for all workspaces, if the agent allows that)',
  ],
  common.context,
  common.fresh,
  common.quiet,
] as const;

/** Resolves with the exit status of the agent's command. */
export const run = declare<AccountOptions>({
  name: 'login',
  description: `Signs in to an agent by its own command, which runs in a container. The sign-in to Claude, Codex, Gemini and
Copilot is kept on this machine, outside of containers, and holds for all workspaces. A sign-in to any other
agent is in the agent's data; by default each workspace has its own.`,
  arguments: [...accountArguments, ['[command...]', 'after --: another command to sign in with']],
  options: accountOptions,
  footer: `
On a desktop, Claude, Codex and Copilot open their page in your browser. Else open the address that is printed,
in a browser on this machine. While the command runs, its ports are also open on 127.0.0.1 here, so that the
browser's answer reaches it. A running agent notices the sign-in at its next session.

Exit status: that of the agent's command; otherwise as for "cai exec".`,
  action: async (options, host, args) => {
    const [named, ...own] = args as [string, ...string[]];
    const { name: agent } = chosenAgent(named, loadConfig(host), host);
    const known = signInCommands(agent);
    const login = isCommand(own) ? own : known?.login;
    if (login === undefined)
      throw new CaiError(
        'USAGE',
        `how to sign in to ${quoted(agent)} is not known: name its command, as in "cai login ${printable(agent)} -- COMMAND"`,
      );
    const guide = isCommand(own) ? undefined : known?.guide;
    return await runSignIn(login, { agent, env: [], guide, ...(await placeOf(agent, options, host)) }, host);
  },
});

/** Runs the login of a token that an editor was given; resolves with its exit status. */
export async function runLogin(
  order: Pick<TerminalOrder, 'agent' | 'workspace' | 'argv' | 'env'>,
  host: Host,
): Promise<number> {
  const { agent, workspace, argv, env } = order;
  if (!isCommand(argv)) throw new CaiError('USAGE', 'this sign-in has no command: ask the agent again');
  const pairs = env.map(([name, value]) => `${name}=${value}`);
  const guide = signInCommands(agent)?.guide;
  // Its agents start in the root, and their commands may depend on that.
  const root = workspace !== undefined && (await findCheckedWorkspace(workspace, host)).root;
  return await runSignIn(argv, { agent, workspace: root, env: pairs, guide }, host);
}

/** Whose sign-in is meant: as the user says, or else as the configuration of the current folder has it. */
export async function placeOf(agent: string, options: AccountOptions, host: Host): Promise<TargetOptions> {
  if (options.workspace !== undefined) return options;
  const workspace = await workspaceIfAny('.', host);
  const { config } = loadWorkspaceConfig(host, workspace?.root);
  if (!hasOwnSignIns(agent, config)) return { ...options, workspace: false };
  if (workspace !== undefined) return { ...options, workspace: '.' };
  throw new CaiError(
    'USAGE',
    `the sign-in to ${quoted(agent)} is for one workspace, and this folder is in none: run this in a project's folder, or name one with --workspace`,
  );
}

/** The commands of an agent's; undefined where they are not known. */
export function signInCommands(agent: string): SignInCommands | undefined {
  return ownValue(catalog, agent)?.signIn;
}

/** `guide`: what somebody does in the agent's own screen. */
async function runSignIn(
  argv: readonly [string, ...string[]],
  options: TargetOptions & { readonly env: readonly string[]; readonly guide: string | undefined },
  host: Host,
): Promise<number> {
  const tty = host.isOnTerminal;
  // A terminal that somebody draws on does not turn newlines into two characters.
  const end = tty ? '\r\n' : '\n';
  const tell = (sentence: string) => void process.stderr.write(`cai: ${printable(sentence)}${end}`);
  const { pages = [] } = signInCommands(options.agent ?? '') ?? {};
  const opener = tty && pages.length > 0 ? openerOf(host) : undefined;
  const browser =
    opener === undefined
      ? undefined
      : new ContainerBrowser(pages, (address) => show(address, opener, host, tell));
  if (options.quiet !== true) {
    tell(
      browser === undefined
        ? 'no browser opens from a container: open the printed address in a browser on this machine'
        : 'if no page opens in your browser, open the printed address there',
    );
    if (options.guide !== undefined) tell(`in the screen that opens, ${options.guide}`);
  }
  const beside = async (connection: SshConnection) => {
    const opened = await Promise.all([PortMirror.open(connection, tell), browser?.open(connection)]);
    return { close: async () => void (await Promise.all(opened.map(async (each) => await each?.close()))) };
  };
  const env = browser === undefined ? options.env : [...options.env, `BROWSER=${browser.program}`];
  const signsInForAll = options.workspace === false;
  const status = await runInContainer(argv, { ...options, env, tty, beside, signsInForAll }, host);
  if (status !== 0 && !tty)
    tell('this sign-in had no terminal on stdin and stdout, which most need: run it in one');
  return status;
}

/** What opens a page in a browser that the person at the terminal sees; not over SSH, unless it brings the display. */
export function openerOf(host: Host, system = process.platform): string | undefined {
  const { DISPLAY, WAYLAND_DISPLAY, SSH_CONNECTION, SSH_TTY } = host.env;
  if (system === 'darwin') return SSH_CONNECTION || SSH_TTY ? undefined : safeProgram('open', host);
  return DISPLAY || WAYLAND_DISPLAY ? safeProgram('xdg-open', host) : undefined;
}

/** Without a shell. The address is printed, too: it may not open. */
function show(address: string, opener: string, host: Host, tell: (sentence: string) => void): void {
  tell(`opening in your browser: ${address}`);
  const child = spawn(opener, [address], { env: host.env, stdio: 'ignore', detached: true });
  child.on('error', () => tell('the browser could not be started: open the address yourself'));
  child.unref();
}

function isCommand(argv: readonly string[]): argv is readonly [string, ...string[]] {
  return argv.length > 0;
}
