/** Where editors keep which agents they start. `docs/editors.md` says the same for people. */
import { existsSync } from 'node:fs';
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
  /** Where its settings may be, as it was installed; the first is where they are made. */
  readonly files: (host: Host) => readonly [string, ...string[]];
  /** The keys that lead to an agent; the last is its name, and is added. */
  readonly path: readonly string[];
  /** What stands there. */
  entry(agent: AgentEntry): Readonly<Record<string, unknown>>;
  /** What else is needed, a sentence. */
  readonly note?: string;
}

const isMac = process.platform === 'darwin';

const configFolder = (host: Host): string => host.baseFolder('XDG_CONFIG_HOME', '.config');

/** VS Code, and what was made from it: `folder` is where it keeps the user's settings. */
function codeEditor(name: string, folder: string): Editor {
  return {
    name,
    files: (host) => [
      isMac
        ? posix.join(host.home, 'Library/Application Support', folder, 'User/settings.json')
        : posix.join(configFolder(host), folder, 'User/settings.json'),
    ],
    path: ['acp.agents'],
    entry: (agent) => ({ ...agent }),
    note: 'It needs the extension ACP Client (formulahendry.acp-client).',
  };
}

/** By the word on the command line. Sources: the documentation of each, and of Flathub's dev.zed.Zed. */
export const editors: Readonly<Record<string, Editor>> = {
  zed: {
    name: 'Zed',
    files: (host) => {
      if (isMac) return [posix.join(host.home, '.config/zed/settings.json')];
      const { FLATPAK_XDG_CONFIG_HOME: own } = host.env;
      const flatpak =
        own?.startsWith('/') === true ? own : posix.join(host.home, '.var/app/dev.zed.Zed/config');
      return [configFolder(host), flatpak].map((folder) => posix.join(folder, 'zed/settings.json')) as [
        string,
        string,
      ];
    },
    path: ['agent_servers'],
    entry: (agent) => ({ type: 'custom', ...agent }),
  },
  vscode: codeEditor('VS Code', 'Code'),
  'vscode-insiders': codeEditor('VS Code Insiders', 'Code - Insiders'),
  'code-oss': codeEditor('Code - OSS', 'Code - OSS'),
  vscodium: codeEditor('VSCodium', 'VSCodium'),
  cursor: codeEditor('Cursor', 'Cursor'),
  windsurf: codeEditor('Windsurf', 'Windsurf'),
  jetbrains: {
    name: 'JetBrains IDEs',
    files: ({ home }) => [posix.join(home, '.jetbrains/acp.json')],
    path: ['agent_servers'],
    entry: (agent) => ({ ...agent }),
  },
};

/** The settings of an editor: where its folder is, else where they are made. */
export function settingsOf({ files }: Editor, host: Host): string {
  const all = files(host);
  return all.find((file) => existsSync(posix.dirname(file))) ?? all[0];
}

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
          formatted_name = ${text([name])},
          commands = { default = { ${text([command, ...args])} } }${withEnv},
          -- "cai login" signs in, and not a method that the editor chooses.
          handlers = { auth = function() return true end },
        })
      end,
    },
  },
  interactions = { chat = { adapter = "claude_code" } },
})
`;
}
