/** Every request to the engine is watched, as an engine that is stopped or stuck would never answer it. */
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { watchSilence, type Silent } from '../silence';

/** dockerode's client, as far as it is used here. */
export interface Modem {
  /** Prefix of all paths: `v1.41`; none if absent. */
  version?: string;
  /** Makes its connections; `undefined`: Node's own. */
  readonly agent?: unknown;
  /** Sends a request; `done` gets the answer, or its body if `isStream` is not set. */
  dial(options: DialOptions, done: Done): void;
}

/** A request, as dockerode has it. */
export interface DialOptions {
  /** Without the prefix of the version. */
  readonly path: string;
  readonly method: string;
  /** Whether the answer is given with its body still to be read. */
  readonly isStream?: boolean;
  /** Whether the answer is the connection itself, which then belongs to whoever has asked for it. */
  readonly hijack?: boolean;
  /** Statuses that are no failure, with `true`. */
  readonly statusCodes: Readonly<Record<number, string | true>>;
  readonly abortSignal?: AbortSignal;
}

/** Gets a failure, or the answer. */
export type Done = (error: Error | null, answer: unknown) => void;

/** Building, fetching, pushing and removing may take as long as they need; a wait does so by its nature. */
const endless = /^(?:POST \/(?:build|images\/create|images\/.+\/push|containers\/[^/]+\/wait)\b|DELETE )/;

/** Changes `modem` so that its requests fail with `Silent` where they would otherwise never end. */
export function watchRequests(modem: Modem): void {
  const dial = modem.dial.bind(modem);
  modem.dial = (options, done) => {
    const abort = new AbortController();
    const { abortSignal = abort.signal } = options;
    const limits = endless.test(`${options.method} ${options.path}`) ? { maxLooks: Infinity } : {};
    let isAnswered = false;
    let fail = (reason: Silent): void => answer(reason, null);
    const onSilent = (failure: Silent): void => {
      fail(failure);
      abort.abort();
    };
    const end = watchSilence((signal) => askForSign(dial, signal), onSilent, limits);
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

/** Whatever the engine answers, it is there. */
async function askForSign(dial: Modem['dial'], signal: AbortSignal): Promise<void> {
  try {
    (await get({ dial }, '/_ping', signal)).resume();
  } catch (reason) {
    if (!('statusCode' in (reason as object))) throw reason;
  }
}
