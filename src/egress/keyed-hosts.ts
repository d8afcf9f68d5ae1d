/** Which hosts get keys and tokens of the user's, and which. */
import { readFile } from 'node:fs/promises';
import { placeText, type Place } from '../config/host-rules';
import { endpointAt, getsTokens, signInOf, type AgentSignIn } from '../credentials/agent-sign-ins';
import { authorityOf } from '../credentials/authority';
import { KeptSignIn, tokenFor } from '../credentials/kept-sign-in';
import { Secret } from '../credentials/secret';
import { placesOf } from '../credentials/services';
import { withKey, withSwapped, type Keyable } from '../credentials/swap';
import type { Dialler } from './dial';
import type { EgressOptions } from './egress';
import { KeyedHost, type KeyedHostOptions } from './keyed-host';
import { exchangeAt } from './token-exchange';

/** Finds the host that a place is, if it gets something. */
export function keyedHosts(
  options: Pick<EgressOptions, 'agent' | 'config' | 'host' | 'isTrusted' | 'onSignIn'>,
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
  const known = new Map<string, KeyedHost | undefined>();
  const given = gifts(options);
  return (place) => {
    const name = placeText(place);
    if (!known.has(name)) {
      const all = given.flatMap((gift) => gift(place) ?? []);
      known.set(name, all.length === 0 ? undefined : new KeyedHost(place, { ...shared, ...together(all) }));
    }
    return known.get(name);
  };
}

/** What a host gets, of one kind. */
type Gift = Pick<KeyedHostOptions, 'withKeys'> & Partial<Pick<KeyedHostOptions, 'exchangeAt'>>;

/** A function for each key and sign-in, which tells what a place gets of it. */
function gifts(options: Parameters<typeof keyedHosts>[0]): ((place: Place) => Gift | undefined)[] {
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

/** As for the keys, but for the sign-in of the agent. */
function tokensOf(
  signIn: AgentSignIn,
  { agent, host, onSignIn }: Parameters<typeof keyedHosts>[0],
): (place: Place) => Gift | undefined {
  const kept = new KeptSignIn(host.folders.state, agent);
  // eslint-disable-next-line @typescript-eslint/require-await -- as for keys, which take a while
  const withKeys = async ({ path, headers }: Keyable) => {
    const now = kept.read();
    return { path, headers: withSwapped(headers, (text) => tokenFor(now, text)) };
  };
  return (place) => {
    if (!getsTokens(signIn, place)) return undefined;
    const exchange = (path: string) => {
      const endpoint = endpointAt(signIn, place.host, path);
      return endpoint && exchangeAt(endpoint, kept, onSignIn);
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
