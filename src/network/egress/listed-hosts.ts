/**
 * The hosts that every container, or every container of an agent, reaches without a question. As rules: those without
 * a port mean 80 and 443.
 *
 * What is on a list can be sent data, so each entry is there because work stops without it, and hosts where anybody can
 * store what anybody sends are left out, such as storage.googleapis.com, uploads.github.com and upload.pypi.org. Of what
 * remains, github.com, api.github.com and the registries of npm and crates.io do take uploads, from whoever has an
 * account there: docs/network.md names that as open.
 */

/** A rule of the list for all containers. */
export interface ListedHost {
  readonly rule: string;
  /** Whose it is, for people. */
  readonly what: string;
}

/** Where packages and sources come from. Sources: the documentation of each about mirrors, proxies and firewalls. */
export const commonHosts: readonly ListedHost[] = [
  // Yarn's lock files name the same registry by another name.
  ...listed('npm', ['registry.npmjs.org:443', 'registry.yarnpkg.com:443']),
  // node-gyp takes Node's headers from there.
  ...listed('Node.js', ['nodejs.org:443']),
  ...listed('PyPI', ['pypi.org:443', 'files.pythonhosted.org:443']),
  ...listed('Rust', [
    'index.crates.io:443',
    'static.crates.io:443',
    'crates.io:443',
    'static.rust-lang.org:443',
  ]),
  ...listed('Go', ['proxy.golang.org:443', 'sum.golang.org:443']),
  ...listed('Maven', ['repo.maven.apache.org:443', 'repo1.maven.org:443']),
  // Each redirects downloads to the one behind it.
  ...listed('Gradle', ['plugins.gradle.org:443', 'plugins-artifacts.gradle.org:443']),
  ...listed('Gradle', ['services.gradle.org:443', 'downloads.gradle.org:443']),
  // apt and apk check signatures, and ask by HTTP.
  ...listed('Debian', ['deb.debian.org', 'security.debian.org']),
  ...listed('Ubuntu', ['archive.ubuntu.com', 'security.ubuntu.com', 'ports.ubuntu.com']),
  ...listed('Alpine', ['dl-cdn.alpinelinux.org']),
  ...listed('GitHub', ['github.com:443', 'api.github.com:443', 'codeload.github.com:443']),
  ...listed('GitHub', ['objects.githubusercontent.com:443', 'raw.githubusercontent.com:443']),
  ...listed('GitHub', ['release-assets.githubusercontent.com:443']),
];

/** What an agent's own program asks for. */
export interface AgentHosts {
  /** Its models and what belongs to them. */
  readonly hosts: readonly string[];
  /** Where it signs in and renews a sign-in. Pages that the user's own browser opens are not among them. */
  readonly signIn: readonly string[];
  /**
   * Refused without a question, as nothing stops without them. These go before the other two lists, whose `*.` can cover
   * them; what the user allows goes before these.
   */
  readonly telemetry: readonly string[];
}

/** By the names of `src/agent/catalog.ts`; another agent has no list. */
export const agentHosts: Readonly<Record<string, AgentHosts>> = {
  // Sources: what claude-agent-acp 0.100.0 asked a proxy for; addresses in the program of its SDK (OAuth tokens at
  // platform.claude.com/v1/oauth/token; logs to Datadog, errors to Sentry).
  claude: {
    hosts: ['api.anthropic.com:443'],
    signIn: ['platform.claude.com:443'],
    telemetry: [
      'http-intake.logs.us5.datadoghq.com',
      'browser-intake-us5-datadoghq.com',
      '*.ingest.us.sentry.io',
    ],
  },
  // Sources: what Gemini CLI 0.61.0 asked a proxy for; its code (Code Assist at cloudcode-pa.googleapis.com, tokens at
  // oauth2.googleapis.com/token, events to play.googleapis.com/log). Vertex is for those who set it up: they are asked.
  gemini: {
    hosts: ['generativelanguage.googleapis.com:443', 'cloudcode-pa.googleapis.com:443'],
    signIn: ['oauth2.googleapis.com:443'],
    // At www it asks for the name of the account, and goes on without. Anybody can store things there.
    telemetry: ['play.googleapis.com', 'www.googleapis.com'],
  },
  // Sources: what codex-acp 2.6.0 asked a proxy for; its code (auth.openai.com/oauth/token and /api/accounts; metrics to
  // ab.chatgpt.com/otlp).
  codex: {
    hosts: ['api.openai.com:443', 'chatgpt.com:443'],
    signIn: ['auth.openai.com:443'],
    telemetry: ['ab.chatgpt.com'],
  },
  // Sources: what OpenCode 1.18.33 asked a proxy for, and the sign-ins in its code. It knows more than a hundred
  // providers: the user is asked for the one that is used.
  opencode: {
    hosts: ['opencode.ai:443', 'models.opencode.ai:443'],
    signIn: ['auth.openai.com:443', 'auth.x.ai:443'],
    telemetry: [],
  },
  // Sources: the addresses of Alibaba's Model Studio in the code of Qwen Code 0.24.4, and what it asked a proxy for.
  qwen: {
    hosts: [
      ...['dashscope.aliyuncs.com:443', 'dashscope-intl.aliyuncs.com:443', 'dashscope-us.aliyuncs.com:443'],
      ...['coding.dashscope.aliyuncs.com:443', 'coding-intl.dashscope.aliyuncs.com:443'],
      'token-plan.cn-beijing.maas.aliyuncs.com:443',
      'token-plan.ap-southeast-1.maas.aliyuncs.com:443',
    ],
    signIn: ['chat.qwen.ai:443'],
    telemetry: ['*.rum.aliyuncs.com'],
  },
  // Source: docs.github.com, "Copilot allowlist reference"; what Copilot 1.0.102 asked a proxy for (api.github.com).
  copilot: {
    hosts: ['*.githubcopilot.com:443', 'copilot-proxy.githubusercontent.com:443', 'api.github.com:443'],
    signIn: ['github.com:443'],
    telemetry: [
      'copilot-telemetry.githubusercontent.com',
      'collector.github.com',
      'default.exp-tas.com',
      ...['individual', 'business', 'enterprise'].map((plan) => `telemetry.${plan}.githubcopilot.com`),
    ],
  },
  // Source: cursor.com/docs, "Network configuration", which names *.cursor.sh as a whole; its Sentry is
  // metrics.cursor.sh. Not tried: no registry has the program.
  cursor: {
    hosts: ['*.cursor.sh:443'],
    signIn: ['authenticate.cursor.sh:443', 'authenticator.cursor.sh:443'],
    telemetry: ['metrics.cursor.sh'],
  },
};

function listed(what: string, rules: readonly string[]): ListedHost[] {
  return rules.map((rule) => ({ rule, what }));
}
