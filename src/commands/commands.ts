/** All commands but `cai --acp`, in one bundle; each is loaded only when it is run. */
import { catalog } from '../agent/catalog';
import { CaiError } from '../errors';
import type { Host } from '../system/host';
import type { Declaration } from './support/command';
import { nearest } from '../config/nearest';
import { ownValue } from '../config/own-property';

/** A command: its arguments are those behind its name; resolves with the exit status. */
interface Command {
  readonly run: ((args: readonly string[], host: Host) => Promise<number>) & {
    readonly declaration?: Declaration<never>;
  };
}

/** How something is called, what it does, and for a command, whose name comes first, how it is loaded. */
type Row = readonly [usage: string, help: string, load?: () => Promise<Command>];

/** By what they are for, in the order of the help. */
const groups: Readonly<Record<string, readonly Row[]>> = {
  'For editors': [
    ['--acp [agent] [agent args...]', 'speak ACP on stdin and stdout'],
    ['acp [agent] [agent args...]', 'the same'],
    ['connect [URL]', 'speak it with an agent on a server', () => import('./serve/connect')],
    ['cursor', "speak it with Cursor's command line, on this machine", () => import('./setup/cursor')],
    ['setup [EDITOR]', "write it into an editor's settings", () => import('./setup/setup')],
    ['try [AGENT]', 'talk with an agent here, as an editor does', () => import('./try/try')],
    ['agents', 'which agents there are; search, show, update', () => import('./setup/agents')],
    ['sessions', 'list your sessions, open and past', () => import('./records/sessions')],
    ['usage', 'what turns have cost: tokens, money, time', () => import('./records/usage')],
    ['logs', 'what cai has logged in your editors', () => import('./records/logs')],
    ['--acp --record FILE [agent...]', 'record all messages, without secrets;'],
    ['', 'the option may also follow the agent'],
    ['replay FILE', 'play a recording to an editor or an agent', () => import('./records/replay')],
    ['inspect [FILE]', 'show a recording in the browser; --live', () => import('./records/inspect')],
  ],
  "In the workspace's container, which is created when needed": [
    ['exec COMMAND...', 'run a command', () => import('./run/exec')],
    ['shell', 'open a shell', () => import('./run/shell')],
    ['AGENT [agent args...]', "run the agent's own interface: cai claude"],
    ['forward PORT...', 'reach its ports on 127.0.0.1', () => import('./run/forward')],
  ],
  'What containers reach': [
    ['network', 'show hosts and rules; log, allow, deny, forget', () => import('./workspace/network')],
  ],
  'What agents have left': [
    ['review', 'files your programs would run; --restore', () => import('./workspace/review')],
    ['worktree', 'branches of sessions; new, merge, rm', () => import('./workspace/worktree')],
    ['pull', 'bring commits from a copy in a cluster', () => import('./run/pull')],
  ],
  'Signing in to agents': [
    ['login AGENT', "sign in by the agent's own command", () => import('./run/login')],
    ['logout AGENT', 'sign out again', () => import('./run/logout')],
  ],
  'Containers and images': [
    ['ps', 'list your containers', () => import('./containers/ps')],
    ['stop [NAME...]', 'stop the containers of the workspace, or these', () => import('./containers/stop')],
    ['rm [NAME...]', "remove them, but not the agents' data", () => import('./containers/rm')],
    ['build [AGENT]', "build an agent's image", () => import('./containers/build')],
    ['images', 'list your images, and what they take', () => import('./containers/images')],
    ['image add NAME...', 'add Go, Rust, Debian packages ...', () => import('./containers/image')],
    ['prune', 'remove what is not used any more', () => import('./containers/prune')],
  ],
  'The same agents from elsewhere': [
    ['serve', 'serve agents by network; link, token', () => import('./serve/serve')],
  ],
  Help: [
    ['doctor', 'check what is missing, and how to fix it', () => import('./doctor/doctor')],
    ['config', 'show the configuration in effect; get, set, edit', () => import('./workspace/config')],
    ['update', 'install the newest version, or say how', () => import('./setup/update')],
    ['uninstall', 'remove what cai has made for you', () => import('./setup/uninstall')],
    ['completion SHELL', 'complete words by TAB in bash, zsh, fish', () => import('./setup/completion')],
    ['trust', "allow what a repository's configuration asks for", () => import('./workspace/trust')],
    ['NAME --help', 'more about a command'],
    ['--help', ''],
    ['--version', ''],
  ],
};

const rows = Object.values(groups).flat();
export const commands: Readonly<Record<string, () => Promise<Command>>> = Object.fromEntries(
  rows.flatMap(([usage, , load]) => (load === undefined ? [] : [[usage.split(' ')[0]!, load]])),
);

/** The commands that editors and we ourselves start. */
const internalCommands: Readonly<Record<string, () => Promise<Command>>> = {
  bridge: () => import('./run/bridge'),
  'mock-agent': () => import('./try/mock-agent'),
  'newest-version': () => import('./setup/newest-version'),
  terminal: () => import('./run/terminal'),
};

/** For completion. */
const known = {
  first: [
    ...rows
      .filter(([usage]) => /^[^A-Z]/.test(usage) && !usage.includes(' --'))
      .map(([usage, text]) => [usage.split(' ')[0]!, text] as const),
    ...Object.entries(catalog)
      .filter(([name]) => !Object.hasOwn(commands, name))
      .map(([name, { displayName }]) => [name, `run ${displayName} in the container`] as const),
  ],
  declared: async (name: string) => (await ownValue(commands, name)?.())?.run.declaration,
};

const notes = `Agents: ${Object.keys(catalog).join(', ')}; default claude.
  And all that "cai agents" lists, from the ACP registry.
Others, in $XDG_CONFIG_HOME/containai/config.toml (~/.config/containai/config.toml):
  [agents.NAME]
  command = ["program", "argument"]

In a terminal, with arguments for the agent, cai runs the agent itself.

Environment:
  CAI_ACP_DIRECT_SPAWN=1       run the agent on this machine, without a container
  CAI_ACP_TEST_MODE=1          any agent name, run exactly as "<name> --acp"
  CAI_ACP_WORKSPACE_MOUNT=DIR  show the workspace to the agent as DIR
  CAI_LOG_LEVEL=LEVEL          silent, error, warn (default), info, debug
  CAI_NO_UPDATE_CHECK=1        do not look for a newer version
  CAI_LOG_FILE=FILE            log to FILE instead of stderr
`;

/** `cai --help`: writes the help text to stdout; returns the exit status. */
export function help(): number {
  const lineOf = ([usage, text]: Row): string =>
    `  ${usage === '' ? '   ' : 'cai'} ${usage.padEnd(32)}${text}`.trimEnd();
  const parts = Object.entries(groups).map(([what, rows]) =>
    [`${what}:`, ...rows.map(lineOf), ''].join('\n'),
  );
  const title = 'cai - run coding agents in containers, from any ACP editor\n';
  process.stdout.write([title, ...parts, notes].join('\n'));
  return 0;
}

/** Runs a command. Rejects with `USAGE` for an unknown name. */
export async function run(name: string, args: readonly string[], host: Host): Promise<number> {
  if (name === 'complete') return await (await import('./setup/completion')).complete(args, known, host);
  const load = ownValue(internalCommands, name) ?? ownValue(commands, name);
  const agent = ownValue(catalog, name);
  if (load === undefined && agent !== undefined) {
    const { runInContainer } = await import('./run/exec');
    const command = [...agent.interface, ...args] as const;
    return await runInContainer(command, { agent: name, env: [], tty: host.isOnTerminal }, host);
  }
  if (load === undefined) {
    const meant = nearest(name, Object.keys(commands));
    const hint = meant === undefined ? '' : `, did you mean "${meant}"?`;
    throw new CaiError('USAGE', `"${name}" is not a command${hint}: see "cai --help"`);
  }
  const status = await (await load()).run(args, host);
  const { noticeUpdate, wantsNotice } = await import('./support/update-notice');
  if (wantsNotice(name, args, host)) noticeUpdate(host);
  return status;
}
