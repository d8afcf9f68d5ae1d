/**
 * An engine that does not answer: every request is watched, because one to an engine that is stopped or stuck would
 * never end. Slow is not silent, so an engine is asked for a sign of life before it is given up.
 */
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { EngineSilent } from './engine-error';

/** dockerode's client, as far as it is used here. */
export interface Modem {
  /** Prefix of all paths: `v1.41`; none if absent. */
  version?: string;
  /** Sends a request; `done` gets the answer, or its body if `isStream` is not set. */
  dial(options: DialOptions, done: (error: Error | null, answer: unknown) => void): void;
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

/** How long a request may take before the engine is asked whether it is there, and then from time to time. */
const lookMs = 10_000;
/** How long it may take to say so, in milliseconds. */
const signMs = 10_000;
/** How often it is asked before a request that takes no time in a sound engine has failed: that is 90 s. */
const maxLooks = 9;

/** Building, fetching and removing may take as long as they need; a wait does so by its nature. */
const endless = /^(?:POST \/(?:build|images\/create|containers\/[^/]+\/wait)\b|DELETE )/;

/** Changes `modem` so that its requests fail with `EngineSilent` where they would otherwise never end. */
export function watchRequests(modem: Modem): void {
  const dial = modem.dial.bind(modem);
  const isThere = (): Promise<boolean> => signOfLife(dial);
  modem.dial = (options, done) => {
    const title = `${options.method} ${options.path}`;
    const watch = new RequestWatch(isThere, endless.test(title) ? Infinity : maxLooks);
    let isAnswered = false;
    const answer = (error: Error | null, body: unknown): void => {
      if (isAnswered) return;
      isAnswered = true;
      if (error === null) watch.follow(body as Readable);
      else watch.end();
      done(error, body);
    };
    const { signal } = watch.abort;
    const { abortSignal } = options;
    const either = abortSignal === undefined ? signal : AbortSignal.any([signal, abortSignal]);
    watch.onSilent = (reason) => answer(reason, null);
    dial({ ...options, abortSignal: either }, answer);
  };
}

/** One request. */
class RequestWatch {
  /** Ends the request. */
  readonly abort = new AbortController();
  /** Told once, if the engine leaves it without an answer. */
  onSilent: (reason: EngineSilent) => void = () => undefined;
  #looks = 0;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(
    private readonly isThere: () => Promise<boolean>,
    private readonly maxLooks: number,
  ) {
    this.#later();
  }

  /** The answer has begun: now its body is waited for. */
  follow(body: Readable): void {
    this.onSilent = (reason) => body.destroy(reason);
    body.once('close', () => this.end());
  }

  end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  #later(): void {
    this.#timer = setTimeout(() => void this.#look(), lookMs).unref();
  }

  async #look(): Promise<void> {
    const isThere = await this.isThere();
    if (this.#isOver) return;
    this.#looks++;
    if (isThere && this.#looks < this.maxLooks) {
      this.#later();
      return;
    }
    this.end();
    this.onSilent(new EngineSilent((this.#looks * lookMs + (isThere ? 0 : signMs)) / 1_000, isThere));
    this.abort.abort();
  }
}

/** The answer to a GET with its body still to be read. Rejects for any status but 200. */
export function get(
  modem: Pick<Modem, 'dial'>,
  path: string,
  abortSignal?: AbortSignal,
): Promise<IncomingMessage> {
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

/** Any answer is one. */
async function signOfLife(dial: Modem['dial']): Promise<boolean> {
  const abort = new AbortController();
  const silence = new Promise<false>((resolve) =>
    abort.signal.addEventListener('abort', () => resolve(false)),
  );
  const limit = setTimeout(() => abort.abort(), signMs).unref();
  const sign = get({ dial }, '/_ping', abort.signal).then(
    (answer) => {
      answer.resume();
      return true;
    },
    (reason: unknown) => 'statusCode' in (reason as object),
  );
  return await Promise.race([sign, silence]).finally(() => clearTimeout(limit));
}
