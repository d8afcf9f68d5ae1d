/** The agents whose sign-ins are kept on this machine, as data: who gives out their tokens, and who gets them. */
import type { Config } from '../../config/config';
import { names, parseRule, type Place } from '../../config/host-rules';
import { ownValue } from '../../config/own-property';
import { placeholderOf, type SignIn } from './kept-sign-in';
import { geminiVariable, type TokenName } from './token-placeholder';
import { objectIn } from '../../system/unless';

/** Where an agent asks for tokens, by HTTPS. */
export interface TokenEndpoint {
  readonly host: string;
  /** Without a query. */
  readonly path: string;
  /** The fields of its answers that hold tokens. */
  readonly tokens: Readonly<Record<string, TokenName>>;
  readonly ends?: true;
}

/** What is put into a container so that its agent is signed in, although nobody has signed in there. */
interface Inside {
  /** As `RemoteCommand.files`. */
  readonly files?: Readonly<Record<string, string>>;
  readonly variables?: Readonly<Record<string, string>>;
}

/** JSON that a container can write: any part of it may be something else than expected. */
export interface Tree {
  readonly [name: string]: Tree | undefined;
}

interface StoredForm {
  /** Path of its file, below the home folder. */
  readonly path: string;
  /** What the file holds; of several tokens of one name the first real one counts. May fail for any other JSON. */
  readonly read: (file: Tree) => {
    readonly tokens: Readonly<Partial<Record<TokenName, unknown>>>;
    readonly scope?: unknown;
    /** In milliseconds since 1970. */
    readonly expiresAt?: unknown;
  };
}

export interface AgentSignIn {
  /** Rules of the hosts that get tokens in the place of placeholders, besides the hosts of the endpoints. */
  readonly hosts: readonly string[];
  /** Where tokens are given out: the container gets placeholders instead. */
  readonly endpoints: readonly TokenEndpoint[];
  /** What of a sign-in is put into containers. */
  readonly inside: (signIn: SignIn) => Inside;
  /** What the agent writes when its tokens are not kept outside; `cai doctor` moves those. */
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
      // Used by other programs that sign in to Claude.
      { host: 'api.anthropic.com', path: '/v1/oauth/token', tokens },
      // Gives the key that an account of Anthropic's Console uses from then on, instead of the tokens.
      { host: 'api.anthropic.com', path: '/api/oauth/claude_cli/create_api_key', tokens: { raw_key: 'key' } },
    ],
    inside: (signIn) => {
      const key = placeholderOf(signIn, 'key');
      if (key !== undefined) return { variables: { ANTHROPIC_API_KEY: key } };
      const tokens = {
        accessToken: placeholderOf(signIn, 'access'),
        refreshToken: placeholderOf(signIn, 'refresh'),
      };
      // The token looks as if it had ended: Claude then renews it, and asks what the account may do.
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
        // Without this file, Gemini asks for the account's name, at a host where anybody can store things.
        '.gemini/google_accounts.json': JSON.stringify({
          active: claimsOf(signIn).email ?? 'unknown',
          old: [],
        }),
      },
      // Only while somebody is signed in: otherwise Gemini would wait for a code on stdin, where the editor's messages come.
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
      // Copilot itself does not ask there. Other programs do, and the token that they get works from anywhere.
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

/** `undefined`: the agent's tokens are not kept outside of containers. */
export function signInOf(agent: string, { network }: Pick<Config, 'network'>): AgentSignIn | undefined {
  return network.egress === 'open' ? undefined : ownValue(signIns, agent);
}

export function getsTokens({ hosts, endpoints }: AgentSignIn, place: Place): boolean {
  const rules = [...hosts, ...endpoints.map(({ host }) => `${host}:443`)];
  return rules.some((rule) => names(parseRule(rule)!, place, []));
}

/**
 * The endpoint that a server could take a path for, however it is written: if we missed one, its answer would bring tokens
 * inside. `host` gets tokens. The request is to be sent to the endpoint's own path.
 */
export function endpointAt(
  { endpoints }: AgentSignIn,
  host: string,
  path: string,
): TokenEndpoint | undefined {
  const [written = ''] = path.split('?', 1);
  const text = decoded(written);
  // Nobody can tell how a server reads such a path, but any server leaves the names in their order.
  const isOdd = /[%;\\#]|\/\.|\/\//.test(written);
  // A host may also have the endpoints of other hosts of its service.
  const form = (each: TokenEndpoint) => new RegExp(`${each.host === host ? '' : '^'}${each.path}(?![\\w-])`);
  const found = endpoints.filter((each) => (isOdd ? hasInOrder(text, each.path) : form(each).test(text)));
  return found.sort((one, other) => other.path.length - one.path.length)[0];
}

/** What a container is to have of a sign-in to the agent, or of its outline, or is to lose if the user has no sign-in. */
export function insideOf({ inside, stored }: AgentSignIn, signIn: SignIn | undefined): Inside {
  // An empty text removes a file with placeholders, which would make the agent believe that it is signed in.
  if (signIn === undefined) return { files: { [stored.path]: '' } };
  // Generation 0 is older than any: an agent that renews gets the current token, and the server is not asked.
  return inside({ ...signIn, generation: 0 });
}

/** A path as a server reads it that decodes more than once, and drops characters that cannot be seen. */
function decoded(path: string): string {
  let text = path;
  for (let times = 0; times < 3; times++)
    text = text.replace(/%([\da-f]{2})/gi, (_, digits: string) => String.fromCharCode(parseInt(digits, 16)));
  return text.replace(/[^!-~]/g, '').toLowerCase();
}

/** Whether a text has all names of a path, in their order. */
function hasInOrder(text: string, path: string): boolean {
  let at = 0;
  return path.split('/').every((name) => (at = text.indexOf(name, at) + name.length) >= name.length);
}

/** The account whose subscription is used: Codex names it in each request. Source: OpenAI's id tokens. */
function chatGptAccount(signIn: SignIn): unknown {
  const about = claimsOf(signIn)['https://api.openai.com/auth'] as Record<string, unknown> | undefined;
  return about?.chatgpt_account_id;
}

function claimsOf({ tokens: { id = '' } }: SignIn): Readonly<Record<string, unknown>> {
  return objectIn(Buffer.from(id.split('.')[1] ?? '', 'base64url').toString()) ?? {};
}
