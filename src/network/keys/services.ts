/** The services whose keys can stay on this machine, as data: where they are used, and by which variables. */
import type { Config } from '../../config/config';
import type { Place } from '../../config/host-rules';

/** One `[[credentials]]` of the user's configuration. */
export type Credential = Config['credentials'][number];

/** Where a key is used, and what a program inside has instead. */
export interface KeyService {
  /** The hosts that get the key, on port 443 alone. */
  readonly hosts: readonly string[];
  /** Variables in which programs look for the key. */
  readonly variables: readonly string[];
  /** What those hold: of the form of a key, so that programs take it for one. Of no use anywhere else. */
  readonly placeholder: string;
  /** Where in a query programs send the key, and the header that means the same: answers show queries. */
  readonly parameter?: { readonly name: string; readonly header: string };
  /** Further variables, by which programs find the placeholder. */
  readonly more?: Readonly<Record<string, string>>;
}

const filler = (length: number) => 'cai-placeholder-'.repeat(Math.ceil(length / 16)).slice(0, length);

/** By the names of `keyServices`; any other name is a host's. Sources: the forms that the services' own docs show. */
const services: Readonly<Record<string, KeyService>> = {
  anthropic: {
    hosts: ['api.anthropic.com'],
    variables: ['ANTHROPIC_API_KEY'],
    placeholder: `sk-ant-api03-${filler(95)}`,
  },
  openai: {
    hosts: ['api.openai.com'],
    variables: ['OPENAI_API_KEY', 'CODEX_API_KEY'],
    placeholder: `sk-proj-${filler(120)}`,
  },
  google: {
    hosts: ['generativelanguage.googleapis.com'],
    variables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    placeholder: `AIzaSy${filler(33)}`,
    // Source: Google Cloud, "Use API keys to access APIs".
    parameter: { name: 'key', header: 'X-Goog-Api-Key' },
  },
  github: {
    hosts: ['github.com', 'api.github.com', 'uploads.github.com'],
    variables: ['GH_TOKEN', 'GITHUB_TOKEN'],
    placeholder: `ghp_${filler(36).replaceAll('-', '0')}`,
    // For git. Source: git-config(1), GIT_CONFIG_COUNT; gitcredentials(7).
    more: {
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'credential.https://github.com.helper',
      GIT_CONFIG_VALUE_0: '!f() { echo username=x-access-token; echo "password=$GH_TOKEN"; }; f',
    },
  },
  npm: {
    hosts: ['registry.npmjs.org'],
    // npm takes any key of its configuration from a variable. Source: npm-config(7).
    variables: ['NPM_TOKEN', 'npm_config_//registry.npmjs.org/:_authToken'],
    placeholder: `npm_${filler(36).replaceAll('-', '0')}`,
  },
};

/** What a credential is for. A host that is no service has no variable: what it is sent has the header anyway. */
export function serviceOf({ for: name }: Pick<Credential, 'for'>): KeyService {
  if (Object.hasOwn(services, name)) return services[name]!;
  return { hosts: [name], variables: [], placeholder: '' };
}

/** Where a key is put in. */
export function placesOf(credential: Pick<Credential, 'for'>): Place[] {
  return serviceOf(credential).hosts.map((host) => ({ host, port: 443 }));
}

/** The header of a credential for a host: its name, and what comes before the key in its value. */
export function headerOf({ header = 'Authorization: Bearer' }: Pick<Credential, 'header'>): {
  readonly name: string;
  readonly prefix: string;
} {
  const [name = '', ...rest] = header.split(':');
  const prefix = rest.join(':').trim();
  return { name, prefix: prefix === '' ? '' : `${prefix} ` };
}

/** What programs inside find instead of the keys. */
export function placeholdersFor(credentials: readonly Credential[]): (readonly [string, string])[] {
  return credentials.flatMap((credential) => {
    const { variables, placeholder, more = {} } = serviceOf(credential);
    return [...variables.map((name) => [name, placeholder] as const), ...Object.entries(more)];
  });
}
