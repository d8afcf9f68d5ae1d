/** Which hosts get keys and tokens of the user's, and which. */
import { readFile } from 'node:fs/promises';
import type { Config } from '../config/config';
import { placeText, type Place } from '../config/host-rules';
import { endpointAt, getsTokens, signInOf, type AgentSignIn } from '../credentials/agent-sign-ins';
import { authorityOf } from '../credentials/authority';
import type { SignIns } from '../credentials/kept-sign-in';
import { Secret } from '../credentials/secret';
import { placesOf } from '../credentials/services';
import { withKey, withSwapped, type Keyable } from '../credentials/swap';
import type { Host } from '../system/host';
import type { Dialler } from './dial';
import { KeyedHost, type KeyedHostOptions } from './keyed-host';
import { exchangeAt } from './token-exchange';

/** Whose keys and tokens they are. */
export interface KeyedHostsOptions {
  /** Name of the agent. */
  readonly agent: string;
  /** In effect. */
  readonly config: Pick<Config, 'network' | 'credentials'>;
  /** Has the folder of our records, and the keys. */
  readonly host: Host;
  /** Whether the container takes us for these hosts; else it gets nothing. */
  readonly isTrusted: boolean;
  /** Of the agent, as far as the command may use them. */
  readonly signIns: SignIns;
  /** Is told when somebody has signed in to the agent. */
  readonly onSignIn: () => void;
}

/** How many hosts are kept ready. */
const maxKnown = 64;

/** Finds the host that a place is, if it gets something. */
export function keyedHosts(
  options: KeyedHostsOptions,
  dialler: Dialler,
): (place: Place) => KeyedHost | undefined {
  if (!options.isTrusted) return () => undefined;
  const { state } = options.host.folders;
  const { caFile } = options.config.network;
  const shared = {
    dialler,
    authority: () => authorityOf(state),
    certificates: async () => (caFile === undefined ? undefined : await readFile(caFile, 'utf8')),
  };
  const known = new Map<string, KeyedHost>();
  const given = gifts(options);
  return (place) => {
    const name = placeText(place);
    const before = known.get(name);
    if (before !== undefined) return before;
    const all = given.flatMap((gift) => gift(place) ?? []);
    if (all.length === 0) return undefined;
    const host = new KeyedHost(place, { ...shared, ...together(all) });
    // The container chooses how many there are, where a rule has a `*`.
    if (known.size >= maxKnown) known.delete([...known.keys()][0]!);
    known.set(name, host);
    return host;
  };
}

/** What a host gets, of one kind. */
type Gift = Pick<KeyedHostOptions, 'withKeys'> & Partial<Pick<KeyedHostOptions, 'exchangeAt'>>;

/** A function for each key and sign-in, which tells what a place gets of it. */
function gifts(options: KeyedHostsOptions): ((place: Place) => Gift | undefined)[] {
  const { agent, config, host } = options;
  const keys = config.credentials.map((credential) => {
    const secret = new Secret(credential, host);
    const places = placesOf(credential).map(placeText);
    const withKeys = async (request: Keyable) => withKey(request, credential, await secret.key());
    return (place: Place) => (places.includes(placeText(place)) ? { withKeys } : undefined);
  });
  const signIn = signInOf(agent, config);
  return signIn === undefined ? keys : [...keys, tokensOf(signIn, options)];
}

/** As for the keys, but for the agent's sign-in. */
function tokensOf(
  signIn: AgentSignIn,
  { signIns, onSignIn }: KeyedHostsOptions,
): (place: Place) => Gift | undefined {
  // eslint-disable-next-line @typescript-eslint/require-await -- as for keys, which take a while
  const withKeys = async ({ path, headers }: Keyable) => ({
    path,
    headers: withSwapped(headers, (text) => signIns.tokenFor(text)),
  });
  return (place) => {
    if (!getsTokens(signIn, place)) return undefined;
    const exchange = (path: string) => {
      const endpoint = endpointAt(signIn, place.host, path);
      return endpoint && exchangeAt(endpoint, signIns, onSignIn);
    };
    return { withKeys, exchangeAt: exchange };
  };
}

function together(gifts: readonly Gift[]): Gift & Pick<KeyedHostOptions, 'exchangeAt'> {
  return {
    withKeys: async (request) => {
      let given = request;
      for (const { withKeys } of gifts) given = await withKeys(given);
      return given;
    },
    exchangeAt: (path) =>
      gifts.map(({ exchangeAt: find }) => find?.(path)).find((found) => found !== undefined),
  };
}
