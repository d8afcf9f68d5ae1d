/** Requests to the API server, each watched: a server that is stuck, or behind a network that is gone, never answers. */
import type { IncomingMessage } from 'node:http';
import { Agent, request, type RequestOptions } from 'node:https';
import { setTimeout as wait } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { Place } from '../../../../config/host-rules';
import { refusalText, wholeAnswer } from '../../answer-body';
import { watchSilence, type SilenceLimits } from '../../silence';
import { ApiRefusal, refusalOf } from './api-error';
import type { Cluster } from './kubeconfig';
import type { Credentials } from './exec-plugin';
import { ProxiedAgent } from './proxied-agent';

export interface Request {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** From `/api` or `/apis` on, with its query. */
  readonly path: string;
  readonly body?: unknown;
  /** Of the body; `application/json` if absent. */
  readonly type?: string;
  /** Ends the request, whose failure is then its reason. */
  readonly signal?: AbortSignal;
}

/** Of a connection, in Node's words, with the headers of the request on it. */
type Settings = Pick<RequestOptions, 'ca' | 'cert' | 'key' | 'rejectUnauthorized' | 'servername'> & {
  readonly headers: Readonly<Record<string, string>>;
};

/** How often a server that has too much to do is asked again, and how long it may ask for, in seconds. */
const maxRepeats = 5;
const maxRetrySeconds = 10;

/** Whatever it answers, it is there. Everybody may ask for it. Source: Kubernetes, the role `system:public-info-viewer`. */
const signPath = '/version';

/** Requests to one API server. Connections are kept for some seconds. */
export class Requests {
  readonly #agent: Agent;
  readonly #place: Place;
  /** Before that of each request. */
  readonly #path: string;

  constructor(
    readonly cluster: Cluster,
    private readonly limits?: Partial<SilenceLimits>,
  ) {
    const { proxy, server } = cluster;
    const { hostname, port, pathname } = new URL(server);
    // Without the brackets of an address of IPv6.
    this.#place = { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? 443 : Number(port) };
    this.#path = pathname.replace(/\/$/, '');
    const kept = { keepAlive: true, scheduling: 'lifo', timeout: 5_000 } as const;
    this.#agent = proxy === undefined ? new Agent(kept) : new ProxiedAgent(proxy, this.#place, kept);
  }

  /** The body of a success. Rejects with `ApiRefusal`, `Silent`, `CaiError`, or an error of the connection. */
  async whole(asked: Request): Promise<Buffer> {
    for (let repeats = 0; ; repeats++) {
      try {
        return await this.#watched(
          asked,
          async (signal) => await wholeAnswer(await this.#send({ ...asked, signal })),
        );
      } catch (reason) {
        const seconds = reason instanceof ApiRefusal ? reason.retryAfterSeconds : undefined;
        const isBusy = [429, 503].includes(refusalOf(reason) ?? 0) && seconds !== undefined;
        // Source: Kubernetes, "API Priority and Fairness": the request has not been looked at.
        if (!isBusy || seconds > maxRetrySeconds || repeats === maxRepeats) throw reason;
        await wait(seconds * 1_000, undefined, asked.signal && { signal: asked.signal });
      }
    }
  }

  /** A success with its body still to be read, which is not watched. Rejects as `whole` does. */
  async open(asked: Request): Promise<IncomingMessage> {
    return await this.#watched(asked, (signal) => this.#send({ ...asked, signal }));
  }

  /** Tries with what counts now, and once more with something else if the server does not know us by it. */
  async authorized<T>(attempt: (credentials: Credentials) => Promise<T>): Promise<T> {
    const credentials = await this.cluster.credentials();
    try {
      return await attempt(credentials);
    } catch (reason) {
      if (refusalOf(reason) !== 401) throw reason;
      return await attempt(await this.cluster.credentials(credentials));
    }
  }

  /** How TLS is to be spoken, and the headers that say who we are. */
  #settings({ token, cert, key }: Credentials): Settings {
    const headers = { ...(token !== undefined && { authorization: `Bearer ${token}` }) };
    return { ...this.cluster.tls, ...(cert && { cert }), ...(key && { key }), headers };
  }

  /**
   * A WebSocket to a part of a pod, such as `exec?command=ls`, whose messages have at most so many bytes: the first one is
   * the channel. `onRefusal` is told why there is none; other failures are events of the WebSocket.
   */
  socket(
    { pod, part, maxPayload }: { readonly pod: string; readonly part: string; readonly maxPayload: number },
    credentials: Credentials,
    onRefusal: (reason: Error) => void,
  ): WebSocket {
    const { server, namespace, proxy } = this.cluster;
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/${part}`;
    const webSocket = new WebSocket(server.replace(/^https/, 'wss') + path, 'v4.channel.k8s.io', {
      ...this.#settings(credentials),
      ...(proxy !== undefined && { agent: new ProxiedAgent(proxy, this.#place) }),
      perMessageDeflate: false,
      maxPayload,
    });
    webSocket.on('unexpected-response', (_request, answer: IncomingMessage) => {
      refusalText(answer).then((body) => onRefusal(new ApiRefusal(answer.statusCode ?? 0, body)), onRefusal);
    });
    return webSocket;
  }

  async #send(asked: Request): Promise<IncomingMessage> {
    return await this.authorized(async (credentials) => {
      const answer = await this.#ask(asked, credentials);
      const { statusCode = 0, headers } = answer;
      if (statusCode >= 200 && statusCode < 300) return answer;
      throw new ApiRefusal(statusCode, await refusalText(answer), headers['retry-after']);
    });
  }

  #ask({ method, path, body, type, signal }: Request, credentials: Credentials): Promise<IncomingMessage> {
    const settings = this.#settings(credentials);
    const json = body === undefined ? undefined : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const sent = request(
        {
          ...settings,
          agent: this.#agent,
          ...this.#place,
          path: this.#path + path,
          method,
          headers: {
            accept: 'application/json',
            ...settings.headers,
            ...(json !== undefined && {
              'content-type': type ?? 'application/json',
              'content-length': Buffer.byteLength(json),
            }),
          },
          ...(signal && { signal }),
        },
        resolve,
      );
      sent.on('error', reject);
      // Without somebody who hears of it, nothing would ever be said of the request.
      sent.on('upgrade', ({ statusCode = 0 }, socket) => {
        socket.destroy();
        reject(new ApiRefusal(statusCode, ''));
      });
      sent.end(json);
    });
  }

  /** Ends what `done` does if the server leaves it without an answer, or if the caller wants that. */
  async #watched<T>({ signal }: Request, done: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const silence = new AbortController();
    const end = AbortSignal.any([silence.signal, signal ?? []].flat());
    const stop = watchSilence(
      async (sign) => (await this.#ask({ method: 'GET', path: signPath, signal: sign }, {})).resume(),
      (failure) => silence.abort(failure),
      this.limits,
    );
    try {
      return await done(end);
    } catch (reason) {
      throw end.aborted ? end.reason : reason;
    } finally {
      stop();
    }
  }
}
