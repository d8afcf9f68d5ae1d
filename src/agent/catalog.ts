/** The agents that can be named on the command line, as data, and how a name becomes a command. */
import { isAbsolute, resolve } from 'node:path';
import { CaiError } from '../errors';
import type { Config } from '../config/config';
import { nearest } from '../config/nearest';
import { ownValue } from '../config/own-property';
import { geminiVariable } from '../credentials/token-placeholder';

/** A known agent. Commands are a program and its arguments, started without a shell. */
interface CatalogEntry {
  readonly displayName: string;
  /** In our image as well as on this machine; the program is looked up on PATH. */
  readonly command: readonly string[];
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
  /** Signs in, in a terminal. */
  readonly login: readonly [string, ...string[]];
  /** Whether what it gets is kept outside of containers, unless they have a network of their own. */
  readonly isKeptOutside?: true;
  /** What somebody does in it, where it opens a screen of its own. */
  readonly guide?: string;
  /** Ids of its ACP sign-ins that wait for a browser where the agent runs, which a container has not: use `login`. */
  readonly browserMethods?: readonly string[];
  /** Signs out. */
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
    packages: ['@agentclientprotocol/claude-agent-acp@0.100.0'],
    signIn: {
      login: ['claude-agent-acp', '--cli', 'auth', 'login'],
      isKeptOutside: true,
      logout: ['claude-agent-acp', '--cli', 'auth', 'logout'],
    },
  },
  gemini: {
    displayName: 'Gemini CLI',
    command: ['gemini', '--acp'],
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
    packages: ['@agentclientprotocol/codex-acp@2.6.0'],
    signIn: {
      login: ['codex-acp', 'cli', 'login'],
      isKeptOutside: true,
      browserMethods: ['chat-gpt'],
      logout: ['codex-acp', 'cli', 'logout'],
    },
    settings: { path: '/etc/codex/config.toml', text: codexSettings },
  },
  opencode: {
    displayName: 'OpenCode',
    command: ['opencode', 'acp'],
    packages: ['opencode-ai@1.18.33'],
    signIn: { login: ['opencode', 'auth', 'login'], logout: ['opencode', 'auth', 'logout'] },
  },
  qwen: {
    displayName: 'Qwen Code',
    command: ['qwen', '--acp'],
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
    packages: ['@github/copilot@1.0.102'],
    // Without a keyring, as in a container, it keeps its token among its settings.
    signIn: {
      login: ['copilot', 'login'],
      isKeptOutside: true,
      credentials: ['.copilot/config.json'],
    },
  },
  cursor: {
    displayName: 'Cursor',
    command: ['cursor-agent', 'acp'],
    packages: [],
    signIn: { login: ['cursor-agent', 'login'], logout: ['cursor-agent', 'logout'] },
  },
};

/** What to start for a name. */
export interface AgentCommand {
  /** The agent's name as on the command line. */
  readonly name: string;
  /** What people call it. */
  readonly displayName: string;
  /** Program and arguments. */
  readonly command: readonly [string, ...string[]];
  /** What the user can do if the program is not found, half a sentence. */
  readonly remedy: string;
  /** Whether the program speaks on descriptor 3, as `status.ts` has it. */
  readonly hasStatus?: boolean;
}

interface CatalogOptions {
  readonly agents: Config['agents'];
  /** `CAI_ACP_TEST_MODE=1`: any name, run exactly as `<name> --acp`. */
  readonly isTestMode: boolean;
  /** The user's, for advice. */
  readonly configFile: string;
  /** Folder against which a name with a slash is resolved, in test mode. */
  readonly cwd: string;
  /** Where the configuration names the agent, for messages; absent where the command line does. */
  readonly namedAt?: (() => string) | undefined;
}

/** The command for a name, with `args` appended. Fails with `UNSUPPORTED_AGENT` for one that nobody knows. */
export function resolveAgent(name: string, args: readonly string[], options: CatalogOptions): AgentCommand {
  if (options.isTestMode) {
    const program = name.includes('/') && !isAbsolute(name) ? resolve(options.cwd, name) : name;
    const remedy = 'in test mode the name is the program: check it';
    return { name, displayName: name, command: [program, '--acp', ...args], remedy };
  }
  const configured = ownValue(options.agents, name);
  const known = ownValue(catalog, name);
  const command = configured?.command ?? known?.command;
  const [program, ...rest] = command ?? [];
  if (program === undefined) {
    const names = [...new Set([...Object.keys(catalog), ...Object.keys(options.agents)])];
    const meant = nearest(name, names);
    const hint = meant === undefined ? '' : `Did you mean ${meant}? `;
    throw new CaiError(
      'UNSUPPORTED_AGENT',
      `Unsupported agent: ${name}${options.namedAt === undefined ? '' : ` (${options.namedAt()})`}\n${hint}Known agents: ${names.join(', ')}. Another one can be added to ${options.configFile}: a line [agents.NAME], and below it command = ["program", "argument"].`,
    );
  }
  const displayName = configured?.name ?? known?.displayName ?? name;
  const remedy = `install it, or name its full path in ${options.configFile}: a line [agents.${name}], and below it command = ["/full/path"]`;
  return { name, displayName, command: [program, ...rest, ...args], remedy };
}
