/** dockerode for one engine, and what its own client of HTTP lacks. */
import http, { Agent, type ClientRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import https from 'node:https';
import Docker from 'dockerode';
import { CaiError, messageOf } from '../../../errors';
import type { Host } from '../../../system/host';
import { objectIn } from '../../../system/unless';
import type { EngineAddress } from './context';
import { SshAgent } from './elsewhere/ssh-agent';
import { SshFailure } from './elsewhere/ssh-failure';
import { engineError, noEngineThere, patienceWith, sentenceOf, statusOf } from './engine-error';
import { refusalText, wholeAnswer } from '../answer-body';
import type { Greeting } from './answers';
import { get, watchRequests, type DialOptions, type Done, type Modem } from './watch';

/** What dockerode would else take from `DOCKER_HOST` and its like, even for another engine. */
const nothing = {
  socketPath: undefined,
  host: undefined,
  port: undefined,
  protocol: 'http',
  ca: undefined,
  cert: undefined,
  key: undefined,
  timeout: undefined,
} as const;

/** dockerode for one engine, and no other. Fails with `CaiError('NO_ENGINE')` for an environment that it cannot read. */
export function engineClient(
  { options, ssh }: EngineAddress,
  host: Pick<Host, 'env' | 'folders' | 'home'>,
): Docker {
  const agent = ssh && { agent: new SshAgent(ssh, host) };
  try {
    const docker = new Docker({ ...nothing, ...ofSocket(options), ...options, ...agent });
    sendHere(docker.modem as object as Sender);
    watchRequests(docker.modem);
    readBodiesHere(docker.modem);
    return docker;
  } catch (reason) {
    // It reads that environment even if none of it counts.
    const why = `DOCKER_HOST and DOCKER_CERT_PATH cannot be used: ${messageOf(reason)}: mend or unset them`;
    throw new CaiError('NO_ENGINE', why);
  }
}

/**
 * As Node's own agent. A socket has no server name; to find that out, Node would compile a pattern of all addresses of
 * IPv6, which takes longer than the engine to answer.
 */
function ofSocket({ socketPath }: EngineAddress['options']): { agent?: Agent } {
  if (socketPath === undefined) return {};
  const agent = { keepAlive: true, scheduling: 'lifo', timeout: 5_000, servername: '' } as const;
  return { agent: new Agent(agent) };
}

/**
 * Changes `modem` so that Node's own client sends its requests. dockerode's own sends them on to wherever the answer says,
 * reads refusals of any length, and waits for ever for an answer that changes the protocol unasked; and it describes each
 * request for a log that nobody reads, which took as long as many an answer.
 */
export function sendHere(modem: Sender): void {
  modem.buildRequest = (options, asked, data, done) => {
    try {
      const sent = (modem.protocol === 'https' ? https : http).request(options);
      hear(sent, asked, done);
      if (typeof data === 'object' && 'pipe' in data)
        data.once('error', (reason: Error) => sent.destroy(reason)).pipe(sent);
      else sent.end(data);
    } catch (reason) {
      // As for a name that cannot be in a path.
      done(reason as Error, null);
    }
  };
}

function hear(sent: ClientRequest, { statusCodes, hijack }: DialOptions, done: Done): void {
  const odd = ({ statusCode }: IncomingMessage): void =>
    done(new Error(`HTTP status ${statusCode} is no answer to that`), null);
  sent.on('error', (reason) => done(reason, null));
  sent.on('upgrade', (answer, connection, head) => {
    if (hijack === true) {
      connection.unshift(head);
      done(null, connection);
    } else {
      connection.destroy();
      odd(answer);
    }
  });
  sent.on('response', (answer) => {
    if (statusCodes[answer.statusCode ?? 0] !== true)
      refusalIn(answer).then(
        (refusal) => done(refusal, null),
        (reason: unknown) => done(reason as Error, null),
      );
    else if (hijack === true) {
      answer.destroy();
      odd(answer);
    } else done(null, answer);
  });
}

/** dockerode's client, as far as it sends what `dial` has put together. */
interface Sender {
  readonly protocol?: string;
  buildRequest(options: RequestOptions, asked: DialOptions, data: Data, done: Done): void;
}

/** Archives come as streams of another library. */
type Data = string | Buffer | NodeJS.ReadableStream | undefined;

/** As dockerode tells of one: with its status. */
async function refusalIn(answer: IncomingMessage): Promise<Error> {
  const { statusCode } = answer;
  const text = await refusalText(answer);
  const { message, error } = objectIn(text) ?? {};
  const said = [message, error, text].filter((each) => typeof each === 'string');
  const why = said.find((each) => each.trim() !== '') ?? `HTTP status ${statusCode}`;
  return Object.assign(new Error(why), { statusCode });
}

/**
 * Changes `modem` so that a connection that ends inside an answer, as when an engine is killed, is a failure:
 * by itself it would never say anything again, and the process would end in silence with status 0. So is an answer that
 * dockerode cannot read, or that has no end.
 */
export function readBodiesHere(modem: Modem): void {
  const dial = modem.dial.bind(modem);
  modem.dial = (options, done) => {
    dial({ ...options, isStream: true }, (error, answer) => {
      if (error !== null || options.isStream === true) {
        done(error, answer);
        return;
      }
      wholeAnswer(answer as IncomingMessage)
        .then((body) => done(null, jsonOf(body)))
        .catch((reason: unknown) => done(reason as Error, null));
    });
  };
}

/** Raw bytes if it is no JSON, as dockerode expects. */
function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return body;
  }
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
    const answer = await get(modem, '/_ping', AbortSignal.timeout(patienceWith(address)));
    answer.resume();
    const version = answer.headers['api-version'];
    if (typeof version !== 'string') throw noEngineThere(address, 'it tells no API version');
    const isPodman = 'libpod-api-version' in answer.headers;
    return { apiVersion: commonVersion(version, address), isPodman };
  } catch (reason) {
    const isMissing = reason instanceof SshFailure && reason.isProgramMissing;
    if (isMissing && modem.agent instanceof SshAgent && modem.agent.useNextProgram())
      return await greet(modem, address);
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
    `its API version is ${theirs.slice(0, 20)}, and cai needs ${oldestApi}, as of Docker 19.03`,
  );
}

function numberOf(version: string): number {
  const [major, minor] = version.split('.').map(Number);
  return (major ?? NaN) * 1000 + (minor ?? NaN);
}
