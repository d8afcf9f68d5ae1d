/** What dockerode's own client of HTTP lacks: an answer that breaks off, and the first request of all. */
import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { inspect } from 'node:util';
import type { EngineAddress } from './context';
import { engineError, noEngineThere, pingTimeoutMs, sentenceOf, statusOf } from './engine-error';

/** dockerode's client, as far as it is used here. */
export interface Modem {
  /** Prefix of all paths: `v1.41`; none if absent. */
  version?: string;
  /** Sends a request; `done` gets the answer, or its body if `isStream` is not set. */
  dial(options: DialOptions, done: (error: Error | null, answer: unknown) => void): void;
}

/** What dockerode's client has for itself. */
export interface ModemInside {
  /** Begins a request, and describes it in its log; `options` are those of `http.request`. */
  buildRequest(options: object, ...rest: readonly unknown[]): void;
}

/** A request. */
export interface DialOptions {
  /** Without the prefix. */
  readonly path: string;
  /** Of HTTP. */
  readonly method: string;
  /** Whether the answer is given with its body still to be read. */
  readonly isStream?: boolean;
  /** Statuses that are no failure, with `true`. */
  readonly statusCodes: Readonly<Record<number, string | true>>;
  /** Ends the request. */
  readonly abortSignal?: AbortSignal;
}

/**
 * Changes `modem` so that a connection that ends inside an answer, as when an engine is killed, is a failure:
 * by itself it would never say anything again, and the process would end in silence with status 0.
 */
export function readBodiesHere(modem: Modem): void {
  const dial = modem.dial.bind(modem);
  modem.dial = (options, done) => {
    dial({ ...options, isStream: true }, (error, answer) => {
      if (error !== null || options.isStream === true) {
        done(error, answer);
        return;
      }
      buffer(answer as IncomingMessage).then(
        (body) => done(null, jsonOf(body)),
        (reason: unknown) => done(reason as Error, null),
      );
    });
  };
}

/**
 * Changes `modem` so that it does not describe each request, agent and sockets included, for a log that nobody reads:
 * that took as long as many an answer.
 */
export function describeNothing(modem: ModemInside): void {
  const build = modem.buildRequest.bind(modem);
  modem.buildRequest = (options, ...rest) => build({ ...options, [inspect.custom]: () => '' }, ...rest);
}

/** Raw bytes if it is no JSON, as dockerode expects. */
function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return body;
  }
}

/** The answer to a GET with its body still to be read. Rejects for any status but 200. */
export function get(modem: Modem, path: string, abortSignal?: AbortSignal): Promise<IncomingMessage> {
  const options = {
    path,
    method: 'GET',
    isStream: true,
    statusCodes: { 200: true },
    ...(abortSignal && { abortSignal }),
  } as const;
  return new Promise((resolve, reject) => {
    modem.dial(options, (error, answer) =>
      error === null ? resolve(answer as IncomingMessage) : reject(error),
    );
  });
}

/** What an engine tells when it is asked whether it is there. */
export interface Greeting {
  /** API version to speak with it: the newest that both know. */
  readonly apiVersion: string;
  /** Whether it is podman. */
  readonly isPodman: boolean;
}

/** Of Docker 19.03; only newer ones are in use. */
const oldestApi = '1.40';

/** All changes up to this one are known, and none concerns what is used here. Source: API version history. */
const newestApi = '1.56';

/**
 * Asks for a sign of life, which tells the API version as well. It costs half a millisecond; /version takes ten
 * times as long, on podman a thousand times. Paths without a version would make it needless, but Docker has
 * deprecated them, and with them the engine chooses the version. Rejects with `NO_ENGINE`.
 */
export async function greet(modem: Modem, address: EngineAddress): Promise<Greeting> {
  try {
    const answer = await get(modem, '/_ping', AbortSignal.timeout(pingTimeoutMs));
    answer.resume();
    const version = answer.headers['api-version'];
    if (typeof version !== 'string') throw noEngineThere(address, 'it tells no API version');
    const isPodman = 'libpod-api-version' in answer.headers;
    return { apiVersion: commonVersion(version, address), isPodman };
  } catch (reason) {
    const status = statusOf(reason);
    if (status !== undefined) throw noEngineThere(address, `HTTP status ${status}: ${sentenceOf(reason)}`);
    throw engineError(reason, { address, what: 'tell that it is there', code: 'NO_ENGINE' });
  }
}

/** An engine for which `newestApi` is too old says so at the next request. */
function commonVersion(theirs: string, address: EngineAddress): string {
  if (numberOf(theirs) >= numberOf(newestApi)) return newestApi;
  if (numberOf(theirs) >= numberOf(oldestApi)) return theirs;
  throw noEngineThere(
    address,
    `its API version is ${theirs}, and cai needs ${oldestApi}, as of Docker 19.03`,
  );
}

function numberOf(version: string): number {
  const [major, minor] = version.split('.').map(Number);
  return (major ?? NaN) * 1000 + (minor ?? NaN);
}
