/** Which hosts get keys and tokens of the user, and which of them each host gets. */
import type { Config } from '../../config/config';
import { placeText, type Place } from '../../config/host-rules';
import { authoritiesWith } from '../authorities';
import { endpointAt, getsTokens, type AgentSignIn } from '../keys/agent-sign-ins';
import { authorityOf } from '../keys/authority';
import type { SignIns } from '../keys/kept-sign-in';
import { Secret } from '../keys/secret';
import { placesOf } from '../keys/services';
import { withKey, withSwapped, type Keyable } from '../keys/swap';
import type { Host } from '../../system/host';
import type { Dialler } from './dial';
import { KeyedHost, type KeyedHostOptions } from './keyed-host';
import { exchangeFor } from './token-exchange';

/** Of one command. */
export interface KeyedHostsOptions {
  readonly config: Pick<Config, 'network' | 'credentials'>;
  readonly host: Host;
  /** Whether the container trusts our authority, and so takes us for these hosts; otherwise no host gets anything. */
  readonly isTrusted: boolean;
  /** The one to the command's agent; `undefined`: none is kept outside of the container. */
  readonly signIn: OutsideSignIn | undefined;
}

/** How an agent signs in, and the sign-ins that the command may use. */
export interface OutsideSignIn {
  readonly form: AgentSignIn;
  /** For the command's workspace. */
  readonly kept: SignIns;
  readonly onSignIn: () => void;
}

/** How many hosts are kept ready at once. */
const maxKnown = 64;

/** Finds the host at a place; `undefined`: it gets neither keys nor tokens. */
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
    authorities: () => authoritiesWith(caFile),
  };
  const known = new Map<string, KeyedHost>();
  const shares = sharesOf(options);
  return (place) => {
    const name = placeText(place);
    const before = known.get(name);
    if (before !== undefined) return before;
    const all = shares.flatMap((shareOf) => shareOf(place) ?? []);
    if (all.length === 0) return undefined;
    const host = new KeyedHost(place, { ...shared, ...together(all) });
    // The container chooses how many there are, where a rule has a `*`.
    if (known.size >= maxKnown) known.delete([...known.keys()][0]!);
    known.set(name, host);
    return host;
  };
}

/** What a host gets by one key, or by the sign-in. */
type Share = Pick<KeyedHostOptions, 'withKeys'> & Partial<Pick<KeyedHostOptions, 'exchangeAt'>>;

/** For each key, and for the sign-in, a function that tells what a place gets by it. */
function sharesOf(options: KeyedHostsOptions): ((place: Place) => Share | undefined)[] {
  const { config, host, signIn } = options;
  const keys = config.credentials.map((credential) => {
    const secret = new Secret(credential, host);
    const places = placesOf(credential).map(placeText);
    const withKeys = async (request: Keyable) => withKey(request, credential, await secret.key());
    return (place: Place) => (places.includes(placeText(place)) ? { withKeys } : undefined);
  });
  return signIn === undefined ? keys : [...keys, tokensOf(signIn)];
}

function tokensOf({ form, kept, onSignIn }: OutsideSignIn): (place: Place) => Share | undefined {
  const withKeys = async ({ path, headers }: Keyable) => {
    await kept.unlock();
    return { path, headers: withSwapped(headers, (text) => kept.tokenFor(text)) };
  };
  return (place) => {
    if (!getsTokens(form, place)) return undefined;
    const exchange = (path: string) => {
      const endpoint = endpointAt(form, place.host, path);
      return endpoint && exchangeFor(endpoint, kept, onSignIn);
    };
    return { withKeys, exchangeAt: exchange };
  };
}

function together(shares: readonly Share[]): Share & Pick<KeyedHostOptions, 'exchangeAt'> {
  return {
    withKeys: async (request) => {
      let given = request;
      for (const { withKeys } of shares) given = await withKeys(given);
      return given;
    },
    exchangeAt: (path) =>
      shares.map(({ exchangeAt: find }) => find?.(path)).find((found) => found !== undefined),
  };
}
