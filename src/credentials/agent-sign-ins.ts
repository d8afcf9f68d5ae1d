/** The agents whose sign-ins are kept on this machine, as data: who gives out their tokens, and who gets them. */
import type { Config } from '../config/config';
import { names, parseRule, type Place } from '../config/host-rules';
import { ownValue } from '../config/own-property';
import { unlessFails } from '../system/state-folder';
import { placeholderOf, type SignIn, type SignIns } from './kept-sign-in';
import { geminiVariable, type TokenName } from './token-placeholder';

/** Where an agent asks for tokens, by HTTPS. */
export interface TokenEndpoint {
  /** The one that gives them. */
  readonly host: string;
  /** Without a query. */
  readonly path: string;
  /** The fields of its answers that hold tokens. */
  readonly tokens: Readonly<Record<string, TokenName>>;
  /** Whether it ends a sign-in. */
  readonly ends?: true;
}

/** What an agent finds in a container in which nobody has signed in, and so is signed in there, too. */
interface Inside {
  /** Texts by paths below the home folder, as `RemoteCommand.files`. */
  readonly files?: Readonly<Record<string, string>>;
  readonly variables?: Readonly<Record<string, string>>;
}

/** JSON of a container: whatever is expected in it may be something else. */
export interface Tree {
  readonly [name: string]: Tree | undefined;
}

/** How an agent stores a sign-in itself. */
interface StoredForm {
  /** Of its file, below the home folder. */
  readonly path: string;
  /** What the file holds; of several tokens of one name the first real one counts. Fails for what is none of it. */
  readonly read: (file: Tree) => {
    readonly tokens: Readonly<Partial<Record<TokenName, unknown>>>;
    /** Words, as a list or in one text. */
    readonly scope?: unknown;
    /** In milliseconds since 1970. */
    readonly expiresAt?: unknown;
  };
}

/** The sign-in of one agent. */
export interface AgentSignIn {
  /** Rules of the hosts that get tokens in the place of placeholders, in the headers for keys, besides the endpoints' own. */
  readonly hosts: readonly string[];
  /** Requests to these are answered with placeholders. */
  readonly endpoints: readonly TokenEndpoint[];
  /** What of a sign-in is put into containers. */
  readonly inside: (signIn: SignIn) => Inside;
  /** What the agent writes where nobody keeps its tokens outside. */
  readonly stored: StoredForm;
}

const tokens = { access_token: 'access', refresh_token: 'refresh', id_token: 'id' } as const;

/** By the names of `src/agent/catalog.ts`. Sources: what the programs sent when they signed in, and their code. */
const signIns: Readonly<Record<string, AgentSignIn>> = {
  // claude-agent-acp 0.100.0.
  claude: {
    hosts: ['api.anthropic.com:443', 'mcp-proxy.anthropic.com:443'],
    endpoints: [
      { host: 'platform.claude.com', path: '/v1/oauth/token', tokens },
      { host: 'platform.claude.com', path: '/v1/oauth/token/revoke', tokens: {}, ends: true },
      // Other programs sign in there.
      { host: 'api.anthropic.com', path: '/v1/oauth/token', tokens },
      // For accounts of Anthropic's Console, which use no other token later.
      { host: 'api.anthropic.com', path: '/api/oauth/claude_cli/create_api_key', tokens: { raw_key: 'key' } },
    ],
    inside: (signIn) => {
      const key = placeholderOf(signIn, 'key');
      if (key !== undefined) return { variables: { ANTHROPIC_API_KEY: key } };
      const tokens = {
        accessToken: placeholderOf(signIn, 'access'),
        refreshToken: placeholderOf(signIn, 'refresh'),
      };
      // With a token that has ended it asks for another, and then also for what the account may do. Without one it asks nothing.
      const claudeAiOauth = { ...tokens, expiresAt: 1, scopes: ['user:inference'] };
      return { files: { '.claude/.credentials.json': JSON.stringify({ claudeAiOauth }) } };
    },
    stored: {
      path: '.claude/.credentials.json',
      read: ({ claudeAiOauth: own }) => ({
        tokens: { access: own?.accessToken, refresh: own?.refreshToken },
        scope: own?.scopes,
        expiresAt: own?.expiresAt,
      }),
    },
  },
  // Gemini CLI 0.61.0.
  gemini: {
    hosts: ['cloudcode-pa.googleapis.com:443'],
    endpoints: [{ host: 'oauth2.googleapis.com', path: '/token', tokens }],
    inside: (signIn) => ({
      files: {
        '.gemini/oauth_creds.json': JSON.stringify({ refresh_token: placeholderOf(signIn, 'refresh') }),
        // Without it, it asks for the name of the account, at a host that anybody can store things at.
        '.gemini/google_accounts.json': JSON.stringify({
          active: claimsOf(signIn).email ?? 'unknown',
          old: [],
        }),
      },
      // Only while somebody is signed in: else it would wait for a code on stdin, where the editor's messages come.
      variables: { [geminiVariable]: 'oauth-personal' },
    }),
    stored: {
      path: '.gemini/oauth_creds.json',
      read: ({ access_token: access, refresh_token: refresh, id_token: id, scope, expiry_date }) => ({
        tokens: { access, refresh, id },
        scope,
        expiresAt: expiry_date,
      }),
    },
  },
  // codex-acp 2.6.0.
  codex: {
    hosts: ['chatgpt.com:443', 'api.openai.com:443'],
    endpoints: [
      { host: 'auth.openai.com', path: '/oauth/token', tokens },
      { host: 'auth.openai.com', path: '/oauth/revoke', tokens: {}, ends: true },
    ],
    inside: (signIn) => ({
      files: {
        '.codex/auth.json': JSON.stringify({
          tokens: {
            id_token: placeholderOf(signIn, 'id'),
            access_token: placeholderOf(signIn, 'access'),
            refresh_token: placeholderOf(signIn, 'refresh'),
            account_id: chatGptAccount(signIn),
          },
          last_refresh: new Date().toISOString(),
        }),
      },
    }),
    stored: {
      path: '.codex/auth.json',
      read: ({ tokens: own, OPENAI_API_KEY: key }) => ({
        tokens: { access: own?.access_token, refresh: own?.refresh_token, id: own?.id_token, key },
      }),
    },
  },
  // Copilot 1.0.102. Its tokens do not end.
  copilot: {
    hosts: ['api.github.com:443', '*.githubcopilot.com:443'],
    endpoints: [
      { host: 'github.com', path: '/login/oauth/access_token', tokens },
      // Copilot does not ask for it; other programs do, and what they get works anywhere.
      { host: 'api.github.com', path: '/copilot_internal/v2/token', tokens: { token: 'key' } },
    ],
    inside: (signIn) => ({ variables: { COPILOT_GITHUB_TOKEN: placeholderOf(signIn, 'access')! } }),
    stored: {
      path: '.copilot/config.json',
      read: ({ authTokens: all = {}, lastLoggedInUser: last }) => {
        const ofLast = all[[last?.host, last?.login].map(String).join(':')];
        return { tokens: { access: [ofLast, ...Object.values(all)].map((each) => each?.token) } };
      },
    },
  },
};

/** `undefined`: what the agent gets when somebody signs in is kept in its container. */
export function signInOf(agent: string, { network }: Pick<Config, 'network'>): AgentSignIn | undefined {
  return network.egress === 'open' ? undefined : ownValue(signIns, agent);
}

/** Whether requests to a place get the tokens. */
export function getsTokens({ hosts, endpoints }: AgentSignIn, place: Place): boolean {
  const rules = [...hosts, ...endpoints.map(({ host }) => `${host}:443`)];
  return rules.some((rule) => names(parseRule(rule)!, place, []));
}

/**
 * The endpoint at a path of a host that gets tokens, however the path is written: what a server could take for it must
 * not be another one to us, because its answers have tokens. Whoever asks there is to use the endpoint's own path.
 */
export function endpointAt(
  { endpoints }: AgentSignIn,
  host: string,
  path: string,
): TokenEndpoint | undefined {
  const [written = ''] = path.split('?', 1);
  const text = decoded(written);
  // How a server reads such a path cannot be told: but it leaves the names in their order.
  const isOdd = /[%;\\#]|\/\.|\/\//.test(written);
  // Hosts of one service may have each other's endpoints.
  const form = (each: TokenEndpoint) => new RegExp(`${each.host === host ? '' : '^'}${each.path}(?![\\w-])`);
  const found = endpoints.filter((each) => (isOdd ? hasInOrder(text, each.path) : form(each).test(text)));
  return found.sort((one, other) => other.path.length - one.path.length)[0];
}

/** What a container is to have of the agent's sign-in. Fails with `CaiError('CONFIG')`. */
export function insideOf({ inside, stored }: AgentSignIn, signIns: SignIns): Inside {
  const signIn = signIns.outline();
  // What stands for a sign-in that has ended misleads agents: it goes.
  if (signIn === undefined) return { files: { [stored.path]: '' } };
  // Of no generation: whoever renews it gets what the others have.
  return inside({ ...signIn, generation: 0 });
}

/** As also those read it who decode it more than once, and leave out what cannot be seen. */
function decoded(path: string): string {
  let text = path;
  for (let times = 0; times < 3; times++)
    text = text.replace(/%([\da-f]{2})/gi, (_, digits: string) => String.fromCharCode(parseInt(digits, 16)));
  return text.replace(/[^!-~]/g, '').toLowerCase();
}

/** Whether a text has all names of a path. */
function hasInOrder(text: string, path: string): boolean {
  let at = 0;
  return path.split('/').every((name) => (at = text.indexOf(name, at) + name.length) >= name.length);
}

/** Whose subscription Codex names with each request. Source: OpenAI's id tokens. */
function chatGptAccount(signIn: SignIn): unknown {
  const about = claimsOf(signIn)['https://api.openai.com/auth'] as Record<string, unknown> | undefined;
  return about?.chatgpt_account_id;
}

/** What the id token says. */
function claimsOf({ tokens: { id = '' } }: SignIn): Readonly<Record<string, unknown>> {
  const part = Buffer.from(id.split('.')[1] ?? '', 'base64url').toString();
  const claims = unlessFails<unknown>(() => JSON.parse(part));
  return typeof claims === 'object' && claims !== null ? (claims as Record<string, unknown>) : {};
}
