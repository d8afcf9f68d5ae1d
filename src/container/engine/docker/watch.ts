/**
 * An engine that does not answer: every request is watched, because one to an engine that is stopped or stuck would
 * never end. Slow is not silent, so an engine is asked for a sign of life before it is given up.
 */
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { within } from '../../../system/time-limit';
import { EngineSilent } from './engine-error';

/** dockerode's client, as far as it is used here. */
export interface Modem {
  /** Prefix of all paths: `v1.41`; none if absent. */
  version?: string;
  /** Makes its connections; `undefined`: Node's own. */
  readonly agent?: unknown;
  /** Sends a request; `done` gets the answer, or its body if `isStream` is not set. */
  dial(options: DialOptions, done: Done): void;
}

interface DialOptions {
  /** Without the prefix of the version. */
  readonly path: string;
  readonly method: string;
  /** Whether the answer is given with its body still to be read. */
  readonly isStream?: boolean;
  /** Whether the answer is the connection itself, which then belongs to whoever has asked for it. */
  readonly hijack?: boolean;
  /** Statuses that are no failure, with `true`. */
  readonly statusCodes: Readonly<Record<number, string | true>>;
  /** Ends the request. */
  readonly abortSignal?: AbortSignal;
}

type Done = (error: Error | null, answer: unknown) => void;

/** How long a request may take before the engine is asked whether it is there, and then from time to time. */
const lookMs = 10_000;
/** How long it may take to say so, in milliseconds. */
const signMs = 10_000;
/** How often it is asked before a request that takes no time in a sound engine has failed: that is 90 s. */
const maxLooks = 9;

/** Building, fetching, pushing and removing may take as long as they need; a wait does so by its nature. */
const endless = /^(?:POST \/(?:build|images\/create|images\/.+\/push|containers\/[^/]+\/wait)\b|DELETE )/;

/** Changes `modem` so that its requests fail with `EngineSilent` where they would otherwise never end. */
export function watchRequests(modem: Modem): void {
  const dial = modem.dial.bind(modem);
  modem.dial = (options, done) => {
    const abort = new AbortController();
    const { abortSignal = abort.signal } = options;
    const mostLooks = endless.test(`${options.method} ${options.path}`) ? Infinity : maxLooks;
    let isAnswered = false;
    let fail = (reason: EngineSilent): void => answer(reason, null);
    const end = watchEngine(dial, mostLooks, (reason) => {
      fail(reason);
      abort.abort();
    });
    const answer: Done = (error, answered) => {
      if (isAnswered) return;
      isAnswered = true;
      if (error === null && options.hijack !== true) {
        // The answer has begun: now its body is waited for.
        const body = answered as Readable;
        fail = (reason) => void body.destroy(reason);
        body.once('close', end);
      } else end();
      done(error, answered);
    };
    dial({ ...options, abortSignal: AbortSignal.any([abort.signal, abortSignal]) }, answer);
  };
}

/** Tells once if the engine leaves a request without an answer, unless what is returned is called before. */
function watchEngine(
  dial: Modem['dial'],
  mostLooks: number,
  onSilent: (reason: EngineSilent) => void,
): () => void {
  let isOver = false;
  let looks = 0;
  const later = () => setTimeout(() => void look(), lookMs).unref();
  const look = async (): Promise<void> => {
    const isThere = await givesSign(dial);
    if (isOver) return;
    looks++;
    if (isThere && looks < mostLooks) timer = later();
    else onSilent(new EngineSilent((looks * lookMs + (isThere ? 0 : signMs)) / 1_000, isThere));
  };
  let timer = later();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

/** The answer to a GET with its body still to be read. Rejects for any status but 200. */
export function get(
  modem: Pick<Modem, 'dial'>,
  path: string,
  abortSignal?: AbortSignal,
): Promise<IncomingMessage> {
  const options = { path, method: 'GET', isStream: true, statusCodes: { 200: true } } as const;
  return new Promise((resolve, reject) => {
    modem.dial({ ...options, ...(abortSignal && { abortSignal }) }, (error, answer) =>
      error === null ? resolve(answer as IncomingMessage) : reject(error),
    );
  });
}

/** Whether the engine answers within some seconds, with whatever it may be. */
async function givesSign(dial: Modem['dial']): Promise<boolean> {
  const sign = get({ dial }, '/_ping', AbortSignal.timeout(signMs)).then(
    (answer) => answer.resume() === answer,
    (reason: unknown) => 'statusCode' in (reason as object),
  );
  return (await within(signMs, sign)) ?? false;
}
