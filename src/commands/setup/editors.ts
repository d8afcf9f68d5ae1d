/** Where editors keep which agents they start. `docs/editors.md` says the same for people. */
import { posix } from 'node:path';
import type { Host } from '../../system/host';

export interface AgentEntry {
  readonly command: string;
  readonly args: readonly string[];
  /** What the editor's own environment may lack; `undefined`: nothing. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** An editor whose settings are JSON, which may have comments. */
interface Editor {
  readonly name: string;
  file(host: Host): string;
  /** The keys that lead to an agent; the last is its name, and is added. */
  readonly path: readonly string[];
  /** What stands there. */
  entry(agent: AgentEntry): Readonly<Record<string, unknown>>;
  /** What else is needed, a sentence. */
  readonly note?: string;
}

const isMac = process.platform === 'darwin';

const configFolder = (host: Host): string => host.baseFolder('XDG_CONFIG_HOME', '.config');

/** By the word on the command line. Sources: the documentation of each. */
export const editors: Readonly<Record<string, Editor>> = {
  zed: {
    name: 'Zed',
    file: (host) =>
      posix.join(isMac ? posix.join(host.home, '.config') : configFolder(host), 'zed/settings.json'),
    path: ['agent_servers'],
    entry: (agent) => ({ type: 'custom', ...agent }),
  },
  vscode: {
    name: 'VS Code',
    file: (host) =>
      isMac
        ? posix.join(host.home, 'Library/Application Support/Code/User/settings.json')
        : posix.join(configFolder(host), 'Code/User/settings.json'),
    path: ['acp.agents'],
    entry: (agent) => ({ ...agent }),
    note: 'It needs the extension ACP Client (formulahendry.acp-client).',
  },
  jetbrains: {
    name: 'JetBrains IDEs',
    file: ({ home }) => posix.join(home, '.jetbrains/acp.json'),
    path: ['agent_servers'],
    entry: (agent) => ({ ...agent }),
  },
};

/** Neovim is configured by a program, which is not ours to edit: what to put there. */
export function neovimLines(name: string, { command, args, env = {} }: AgentEntry): string {
  const variables = Object.entries(env).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  const withEnv = variables.length === 0 ? '' : `, env = { ${variables.join(', ')} }`;
  const text = (words: readonly string[]): string => words.map((word) => JSON.stringify(word)).join(', ');
  return `-- avante.nvim
require("avante").setup({
  provider = ${text([name])},
  acp_providers = {
    [${text([name])}] = { command = ${text([command])}, args = { ${text(args)} }${withEnv} },
  },
})

-- or CodeCompanion
require("codecompanion").setup({
  adapters = {
    acp = {
      claude_code = function()
        return require("codecompanion.adapters").extend("claude_code", {
          commands = { default = { ${text([command, ...args])} } }${withEnv},
        })
      end,
    },
  },
  interactions = { chat = { adapter = "claude_code" } },
})
`;
}
