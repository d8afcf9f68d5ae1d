/** Connects to places that a policy has admitted. */
import { once } from 'node:events';
import { lookup } from 'node:dns/promises';
import type { IncomingMessage } from 'node:http';
import { connect, isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { HostNetwork } from '../../config/config';
import { extraAddress, placeText, type Place } from '../../config/host-rules';
import { messageOf } from '../../errors';
import { proxyFor, tunnelRequest } from '../own-proxy';
import { printableLine } from '../../system/quoted';
import { within } from '../../system/time-limit';
import { Refusal, type Policy } from './policy';

/** How long a name or a server may take to answer, in milliseconds. */
const answerMs = 20_000;
/** After which the next address of a name is tried, in milliseconds; Node's own 250 are short for a slow network. */
const familyMs = 2_000;

/** How a connection was made, where another proxy has made it. */
export const throughOwn = 'through the proxy of this machine';

/** The ways out of this machine. */
export class Dialler {
  /** `extraHosts`: names of the user's configuration, each `name:address`. */
  constructor(
    private readonly policy: Pick<Policy, 'permitted' | 'noteConnection' | 'noteFailure'>,
    private readonly network: HostNetwork,
    private readonly extraHosts: readonly string[],
  ) {}

  /** The proxy of this machine that leads to the place; `undefined`: none, it is dialled from here. */
  proxyFor(place: Place, kind: 'http' | 'https'): URL | undefined {
    return this.#extra(place.host) === undefined ? proxyFor(this.network, place, kind) : undefined;
  }

  /** A stream to the place, through a proxy of this machine if there is one for HTTPS. Rejects with a `Refusal`. */
  async tunnel(place: Place): Promise<Duplex> {
    const proxy = this.proxyFor(place, 'https');
    if (proxy === undefined) return await this.direct(place);
    await this.check(place);
    return await this.noted(place, throughProxy(place, proxy), throughOwn);
  }

  /**
   * A stream to the place from this machine. A name is looked up once, and what is dialled is an address that the
   * policy permits. Rejects with a `Refusal`.
   */
  async direct(place: Place): Promise<Duplex> {
    const addresses = this.#addressesOf(place);
    const connecting = addresses.then((all) => connected(place, all));
    return await this.noted(place, connecting, 'from this machine');
  }

  /** Notes that the connection is made, or is not, unless that is because it is refused; `way`: how it is made. */
  async noted<T>(place: Place, connecting: Promise<T>, way: string): Promise<T> {
    try {
      const connection = await connecting;
      this.policy.noteConnection(place, way);
      return connection;
    } catch (reason) {
      const { message, status } = reason as Refusal;
      if (status !== 403) this.policy.noteFailure(place, message);
      throw reason;
    }
  }

  /**
   * Rejects with a `Refusal` for a place that is not to be dialled. For one that a proxy of this machine dials, and
   * looks up: its name need not be known here.
   */
  async check(place: Place): Promise<void> {
    await this.#addressesOf(place).catch((reason: unknown) => {
      if (!(reason instanceof Refusal) || reason.status === 403) throw reason;
    });
  }

  async #addressesOf(place: Place): Promise<string[]> {
    const { host } = place;
    const extra = this.#extra(host);
    if (extra !== undefined) return [extra];
    // A rule has named an address that was admitted.
    if (isIP(host) !== 0) return [host];
    const looking = lookup(host, { all: true }).catch((reason: unknown) => {
      throw new Refusal(`the name ${host} cannot be looked up (${messageOf(reason)})`, 502);
    });
    const found = await within(answerMs, looking);
    if (found === undefined) throw new Refusal(`the name ${host} cannot be looked up in time`, 504);
    const addresses = found.map(({ address }) => address);
    return this.policy.permitted(place, addresses);
  }

  /** The address that the user's configuration gives a name; this machine for `host-gateway`. */
  #extra(host: string): string | undefined {
    const address = extraAddress(this.extraHosts, host);
    return address === 'host-gateway' ? '127.0.0.1' : address;
  }
}

/** A connection to the first of these addresses that answers. */
async function connected(place: Place, addresses: readonly string[]): Promise<Duplex> {
  const family = (address: string) => isIP(address) as 4 | 6;
  const socket = connect({
    host: place.host,
    port: place.port,
    allowHalfOpen: true,
    noDelay: true,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: familyMs,
    // Nothing is looked up again: the next answer could be another one.
    lookup: (_host, _options, done) =>
      done(
        null,
        addresses.map((address) => ({ address, family: family(address) })),
      ),
  });
  return await opened(place, socket, once(socket, 'connect'));
}

/** A tunnel through a proxy of this machine, which looks the name up itself. */
async function throughProxy(place: Place, proxy: URL): Promise<Duplex> {
  const asking = tunnelRequest(proxy, place);
  const answered = once(asking, 'connect') as Promise<[IncomingMessage, Socket, Buffer]>;
  asking.end();
  const [answer, socket, head] = await opened(place, asking, answered).then(() => answered);
  if (answer.statusCode !== 200) {
    socket.destroy();
    throw new Refusal(
      `${placeText(place)}: the proxy of this machine answers with status ${answer.statusCode}`,
      502,
    );
  }
  socket.unshift(head);
  return socket;
}

/** `connection` once `done`; rejects with a `Refusal`, and ends it, if that fails or takes too long. */
export async function opened<T extends { destroy(): unknown }>(
  place: Place,
  connection: T,
  done: Promise<unknown>,
): Promise<T> {
  try {
    if ((await within(answerMs, done)) === undefined)
      throw new Refusal(`${placeText(place)} does not answer`, 504);
    return connection;
  } catch (reason) {
    connection.destroy();
    if (reason instanceof Refusal) throw reason;
    throw new Refusal(`${placeText(place)} cannot be reached (${printableLine(messageOf(reason))})`, 502);
  }
}
