/** The settings of the user that each agent can be given, as data: their names and where they are. */

/** A file or folder of the user's. */
export interface AgentSetting {
  /** Below the agent's folder on this machine, and where it is inside; with `~/` below the home folder here. */
  readonly path: string;
  /** Of a file of settings: the keys that are taken; none: the file, or folder, as it is. */
  readonly keys?: readonly string[];
  /** The form of such a file, which may have comments if it is JSON. */
  readonly form?: 'json' | 'toml';
}

export interface AgentSettings {
  /** Its folder below the home folder, here and inside. */
  readonly folder: string;
  /** A variable that names another one here. */
  readonly variable?: string;
  readonly settings: Readonly<Record<string, AgentSetting>>;
  /**
   * Where keys of settings go: a file for the whole container, over which the agent's own wins. Without it they are a file
   * in the agent's folder, which it could not write then.
   */
  readonly systemFile?: string;
}

const asIs = (...paths: readonly string[]) => Object.fromEntries(paths.map((path) => [path, { path }]));
const json = (path: string, ...keys: readonly string[]): AgentSetting => ({ path, keys, form: 'json' });
const toml = (path: string, ...keys: readonly string[]): AgentSetting => ({ path, keys, form: 'toml' });

/** No key here runs a program on its own, or holds a key for a service. */
const claudeKeys = ['model', 'effortLevel', 'alwaysThinkingEnabled', 'outputStyle', 'language'];
const codexKeys = [
  'model',
  'review_model',
  'model_reasoning_effort',
  'model_reasoning_summary',
  'model_verbosity',
  'personality',
];

/**
 * By the agent's name. Sources: code.claude.com, "Settings"; geminicli.com and qwenlm.github.io, "Configuration";
 * developers.openai.com, "Codex configuration"; opencode.ai, "Config"; docs.github.com, "Copilot CLI configuration
 * directory".
 */
export const settingsCatalog: Readonly<Record<string, AgentSettings>> = {
  claude: {
    folder: '.claude',
    variable: 'CLAUDE_CONFIG_DIR',
    settings: {
      ...asIs('CLAUDE.md', 'rules', 'skills', 'commands', 'agents', 'output-styles'),
      'settings.json': json('settings.json', ...claudeKeys, 'attribution', 'includeCoAuthoredBy'),
      hooks: json('settings.json', 'hooks'),
      permissions: json('settings.json', 'permissions'),
    },
  },
  gemini: {
    folder: '.gemini',
    settings: {
      ...asIs('GEMINI.md', 'commands', 'skills', 'agents'),
      'settings.json': json('settings.json', 'model'),
      mcp: json('settings.json', 'mcpServers'),
      hooks: json('settings.json', 'hooks'),
    },
    systemFile: '/etc/gemini-cli/system-defaults.json',
  },
  codex: {
    folder: '.codex',
    variable: 'CODEX_HOME',
    settings: {
      ...asIs('AGENTS.md', 'prompts', 'skills', 'agents'),
      'config.toml': toml('config.toml', ...codexKeys),
      mcp: toml('config.toml', 'mcp_servers'),
      hooks: toml('config.toml', 'hooks'),
    },
    systemFile: '/etc/codex/config.toml',
  },
  opencode: {
    folder: '.config/opencode',
    settings: {
      ...asIs('AGENTS.md', 'agents', 'commands', 'skills'),
      'opencode.json': json('opencode.json', 'model', 'small_model', 'default_agent'),
      mcp: json('opencode.json', 'mcp'),
    },
  },
  qwen: {
    folder: '.qwen',
    settings: {
      ...asIs('QWEN.md', 'commands', 'skills', 'agents'),
      'settings.json': json('settings.json', 'model'),
      mcp: json('settings.json', 'mcpServers'),
      hooks: json('settings.json', 'hooks'),
    },
    systemFile: '/etc/qwen-code/system-defaults.json',
  },
  copilot: {
    folder: '.copilot',
    variable: 'COPILOT_HOME',
    settings: {
      ...asIs('copilot-instructions.md', 'instructions', 'agents', 'skills'),
      'settings.json': json('settings.json', 'model', 'effortLevel'),
      mcp: json('mcp-config.json', 'mcpServers'),
      hooks: json('settings.json', 'hooks'),
    },
  },
};

/** What a list of MCP servers is called in any of these files, and which keys of a server may hold secrets. */
export const mcpKeys = {
  lists: ['mcpServers', 'mcp_servers', 'mcp'],
  secrets: [
    'env',
    'environment',
    'headers',
    'http_headers',
    'env_http_headers',
    'bearer_token',
    'bearer_token_env_var',
    'oauth',
    'auth',
  ],
} as const;
