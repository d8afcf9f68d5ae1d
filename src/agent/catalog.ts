/** The agents that can be named on the command line, as data, and how a name becomes a command. */
import { isAbsolute, resolve } from 'node:path';
import { CaiError } from '../errors';
import { configFileOf, type Config } from '../config/config';
import { nearest } from '../config/nearest';
import { ownValue } from '../config/own-property';
import { geminiVariable } from '../network';
import type { Host } from '../system/host';
import { commandOf, installationOf, type Installation } from './registry/installation';
import { findEntry, readRegistry } from './registry/acp-registry';

/** A known agent. Commands are a program and its arguments, started without a shell. */
interface CatalogEntry {
  readonly displayName: string;
  /** In our image as well as on this machine; the program is looked up on PATH. */
  readonly command: readonly string[];
  /** What people run in a terminal, where it is in our image: the agent's own interface. */
  readonly interface: readonly [string, ...string[]];
  /** The npm packages, with their versions, that are installed in its image; none: npm does not have the agent. */
  readonly packages: readonly string[];
  readonly signIn: SignInCommands;
  /**
   * The host name of all its containers, for an agent that encrypts its data with it. By default each has its own:
   * agents tell by it whether the process that holds a lock is on the same machine.
   */
  readonly hostname?: string;
  /** The container's settings, in a file that the agent reads before the user's own. An image's own file stays. */
  readonly settings?: SettingsFile;
}

/** A file in a container, by its absolute path. */
export type SettingsFile = Readonly<Record<'path' | 'text', string>>;

/** How a user signs in to an agent in our image by hand, and out of it. */
export interface SignInCommands {
  readonly login: readonly [string, ...string[]];
  /** Whether what it gets is kept outside of containers that have no network namespace for themselves. */
  readonly isKeptOutside?: true;
  /** What somebody does in it, where it opens its own screen. */
  readonly guide?: string;
  /** Ids of its ACP sign-ins that wait for a browser where the agent runs, which a container has not: use `login`. */
  readonly browserMethods?: readonly string[];
  /** Hosts of the pages that it opens in a browser. Source: its sign-ins in `fixtures/fake-sign-in`. */
  readonly pages?: readonly string[];
  readonly logout?: readonly [string, ...string[]];
  /** For an agent without a command to sign out: the files below the home folder that hold the sign-in. */
  readonly credentials?: readonly string[];
}

/**
 * Codex cannot make its own sandbox in a container, and every command of its other modes but full access fails there.
 * This mode, in which the container is the sandbox, becomes the default; Codex still asks before dangerous commands.
 * Source: Codex 2.6.0, permission profiles.
 */
const codexSettings = `default_permissions = "container"

[permissions.container]
description = "The container is the sandbox: commands run in it, and dangerous ones are asked about"

[permissions.container.filesystem]
":root" = "write"

[permissions.container.network]
enabled = true
`;

/**
 * Unless old sessions are kept, Gemini loses a session that it has loaded, at its next start but one: it makes an empty
 * second file, and deletes sessions that have one. Source: Gemini CLI 0.61.0, session cleanup.
 */
const geminiSettings = `{
  "general": { "sessionRetention": { "enabled": false } },
  "security": { "auth": { "selectedType": "\${${geminiVariable}:-}" } }
}
`;

/** The agents that need no configuration, by name. */
export const catalog: Readonly<Record<string, CatalogEntry>> = {
  claude: {
    displayName: 'Claude',
    command: ['claude-agent-acp'],
    interface: ['claude-agent-acp', '--cli'],
    packages: ['@agentclientprotocol/claude-agent-acp@0.100.0'],
    signIn: {
      login: ['claude-agent-acp', '--cli', 'auth', 'login'],
      pages: ['claude.com', 'platform.claude.com'],
      isKeptOutside: true,
      logout: ['claude-agent-acp', '--cli', 'auth', 'logout'],
    },
  },
  gemini: {
    displayName: 'Gemini CLI',
    command: ['gemini', '--acp'],
    interface: ['gemini'],
    packages: ['@google/gemini-cli@0.61.0'],
    signIn: {
      login: ['gemini'],
      isKeptOutside: true,
      guide: 'choose how to sign in and follow it, then leave with /quit',
      browserMethods: ['oauth-personal'],
      credentials: ['oauth_creds.json', 'google_accounts.json', 'gemini-credentials.json'].map(
        (name) => `.gemini/${name}`,
      ),
    },
    hostname: 'cai-gemini',
    settings: { path: '/etc/gemini-cli/system-defaults.json', text: geminiSettings },
  },
  codex: {
    displayName: 'Codex',
    command: ['codex-acp'],
    interface: ['codex-acp', 'cli'],
    packages: ['@agentclientprotocol/codex-acp@2.6.0'],
    signIn: {
      login: ['codex-acp', 'cli', 'login'],
      pages: ['auth.openai.com'],
      isKeptOutside: true,
      browserMethods: ['chat-gpt'],
      logout: ['codex-acp', 'cli', 'logout'],
    },
    settings: { path: '/etc/codex/config.toml', text: codexSettings },
  },
  opencode: {
    displayName: 'OpenCode',
    command: ['opencode', 'acp'],
    interface: ['opencode'],
    packages: ['opencode-ai@1.18.33'],
    signIn: { login: ['opencode', 'auth', 'login'], logout: ['opencode', 'auth', 'logout'] },
  },
  qwen: {
    displayName: 'Qwen Code',
    command: ['qwen', '--acp'],
    interface: ['qwen'],
    packages: ['@qwen-code/qwen-code@0.24.4'],
    signIn: {
      login: ['qwen'],
      guide: 'choose how to sign in and follow it, then leave with /quit',
      credentials: ['.qwen/oauth_creds.json'],
    },
  },
  copilot: {
    displayName: 'GitHub Copilot',
    command: ['copilot', '--acp'],
    interface: ['copilot'],
    packages: ['@github/copilot@1.0.102'],
    // Without a keyring, as in a container, it keeps its token among its settings.
    signIn: {
      login: ['copilot', 'login'],
      pages: ['github.com'],
      isKeptOutside: true,
      credentials: ['.copilot/config.json'],
    },
  },
  cursor: {
    displayName: 'Cursor',
    command: ['cursor-agent', 'acp'],
    interface: ['cursor-agent'],
    packages: [],
    signIn: { login: ['cursor-agent', 'login'], logout: ['cursor-agent', 'logout'] },
  },
};

/** The adapter for Cursor's command line: in our package, and where it is put into a container. */
export const cursorAdapter = { packaged: 'dist/cursor/main.js', inContainer: '/run/cai/cai-cursor' } as const;

/** Ids of the registry's entries for the same programs, by which our own are found, too. */
export const aliases: Readonly<Record<string, string>> = {
  // Names of the adapter, from the oldest on.
  'claude-code-acp': 'claude',
  'claude-acp': 'claude',
  'codex-acp': 'codex',
  'qwen-code': 'qwen',
  'github-copilot-cli': 'copilot',
};

export interface AgentCommand {
  /** The agent's name: as on the command line, but for an alias that of the agent itself. */
  readonly name: string;
  readonly displayName: string;
  readonly command: readonly [string, ...string[]];
  /** Variables that the program gets where it runs on this machine; in an image they are the image's affair. */
  readonly env?: Readonly<Record<string, string>>;
  /** What the user can do if the program is not found, half a sentence. */
  readonly remedy: string;
  /** Whether the program speaks on descriptor 3, as `status.ts` has it. */
  readonly hasStatus?: boolean;
}

interface CatalogOptions {
  readonly agents: Config['agents'];
  /** `CAI_ACP_TEST_MODE=1`: any name is run exactly as `<name> --acp`. A name with a slash is resolved against `cwd`. */
  readonly host: Host;
  /** Where the configuration names the agent, for messages; absent where the command line does. */
  readonly namedAt?: (() => string) | undefined;
}

/** The name by which an agent is known here, for any of its names: containers, sessions and sign-ins have this one. */
export function agentNameOf(name: string, agents: Config['agents']): string {
  return Object.hasOwn(agents, name) ? name : (ownValue(aliases, name) ?? name);
}

/**
 * How an image gets an agent from the registry; `undefined`: the agent is ours or the user's own, which need none. One
 * of ours that npm does not have is taken from the registry if that has it.
 */
export function installationFor(
  name: string,
  agents: Config['agents'],
  host: Host,
): Installation | undefined {
  const configured = ownValue(agents, name);
  const known = ownValue(catalog, name);
  const needsNone = configured?.packages !== undefined || (known?.packages.length ?? 0) > 0;
  if (needsNone || (known === undefined && configured !== undefined)) return undefined;
  const entry = findEntry(host, name);
  return entry && installationOf(entry, known?.command[0]);
}

/** The command for a name, with `args` appended. Fails with `UNSUPPORTED_AGENT` for one that nobody knows. */
export function resolveAgent(given: string, args: readonly string[], options: CatalogOptions): AgentCommand {
  const { agents, host } = options;
  if (host.env.CAI_ACP_TEST_MODE === '1') {
    const program = given.includes('/') && !isAbsolute(given) ? resolve(host.cwd, given) : given;
    const remedy = 'in test mode the name is the program: check it';
    return { name: given, displayName: given, command: [program, '--acp', ...args], remedy };
  }
  const name = agentNameOf(given, agents);
  const configured = ownValue(agents, name);
  const known = ownValue(catalog, name);
  const command = configured?.command ?? known?.command;
  const [program, ...rest] = command ?? [];
  if (program === undefined) return listed(name, args, options);
  const displayName = configured?.name ?? known?.displayName ?? name;
  const remedy = `install it, or name its full path in ${configFileOf(host)}: a line [agents.${name}], and below it command = ["/full/path"]`;
  return { name, displayName, command: [program, ...rest, ...args], remedy };
}

/** An agent that only the registry may know. */
function listed(
  name: string,
  args: readonly string[],
  { agents, host, namedAt }: CatalogOptions,
): AgentCommand {
  const entry = findEntry(host, name);
  if (entry === undefined) {
    const names = [...new Set([...Object.keys(catalog), ...Object.keys(agents)])];
    const meant = nearest(name, [...names, ...readRegistry(host).entries.map(({ id }) => id)]);
    const hint = meant === undefined ? '' : `Did you mean ${meant}? `;
    throw new CaiError(
      'UNSUPPORTED_AGENT',
      `Unsupported agent: ${name}${namedAt === undefined ? '' : ` (${namedAt()})`}\n${hint}Known agents: ${names.join(', ')}, and those that "cai agents" lists. Another one can be added to ${configFileOf(host)}: a line [agents.NAME], and below it command = ["program", "argument"].`,
    );
  }
  const { what, env } = installationOf(entry);
  return {
    name,
    displayName: entry.name,
    command: [name, ...commandOf(entry), ...args],
    env,
    // Its container has it; the registry does not say which program of this machine it is.
    remedy: `install ${what}, and put its program on PATH as ${name}, or let it run in a container, without CAI_ACP_DIRECT_SPAWN`,
  };
}
