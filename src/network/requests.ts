/** Requests to registries and to what they send us on to: over TLS, through the user's proxies, within a time. */
import { createWriteStream } from 'node:fs';
import http, { type ClientRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import https from 'node:https';
import { pipeline } from 'node:stream/promises';
import { connect } from 'node:tls';
import type { HostNetwork } from '../config/config';
import { placeOfUrl } from '../config/host-rules';
import { isLoopback } from '../config/serve-places';
import { atMost, wholeOf } from '../system/streams/at-most';
import { authoritiesWith } from './authorities';
import { proxyFor, tunnelTo } from './own-proxy';

export interface Request {
  /** Default: `GET`. */
  readonly method?: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  /** Default: nothing. */
  readonly body?: string;
}

/** What was answered, whatever its status. */
export interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
}

const usualLimitMs = 20_000;
/** What registries must take for a manifest; nothing that `ask` reads is longer. Source: OCI, distribution-spec. */
const maxBytes = 4 * 2 ** 20;
/** How often we are sent on; blobs are elsewhere. */
const maxRedirects = 5;

/** Ways to registries; connections are not kept. */
export class Requests {
  #ca: string[] | undefined;

  constructor(
    private readonly network: HostNetwork,
    private readonly limitMs = usualLimitMs,
  ) {}

  /**
   * Asks, and follows where it is sent on. Credentials go to the first place alone. Only a registry on this machine, which
   * `registry` is if it has no TLS, sends us to servers of this machine. Rejects with `CaiError('CONFIG')` for certificates
   * that cannot be read, else with the error of the connection.
   */
  async ask(first: URL, request: Request, registry = first): Promise<Answer> {
    return await this.#follow(first, request, registry, (answer) =>
      wholeOf(answer, maxBytes, tooLong(maxBytes)),
    );
  }

  /** Writes what is there into a new file, of at most that size. Rejects as `ask` does, and for any status but 200. */
  async download(from: URL, file: string, limitBytes: number): Promise<void> {
    const empty = Buffer.alloc(0);
    const { status } = await this.#follow(from, { headers: {} }, from, async (answer) => {
      if (answer.statusCode !== 200) answer.destroy();
      else {
        const limited = atMost(answer, limitBytes, tooLong(limitBytes));
        await pipeline(limited, createWriteStream(file, { flags: 'wx', mode: 0o600 }));
      }
      return empty;
    });
    if (status !== 200) throw new Error(`it answers with status ${status}`);
  }

  async #follow(
    first: URL,
    request: Request,
    registry: URL,
    read: (answer: IncomingMessage) => Promise<Buffer>,
  ): Promise<Answer> {
    const isLocal = registry.protocol === 'http:' && isLoopback(registry.hostname);
    let [url, asked] = [first, request];
    for (let redirects = 0; redirects <= maxRedirects; redirects++) {
      if (!isLocal && isLoopback(url.hostname))
        throw new Error(`it names ${url.origin}, which is this machine, and is not asked`);
      const answer = await this.#once(url, asked, read);
      const { location } = answer.headers;
      if (![301, 302, 303, 307, 308].includes(answer.status) || location === undefined) return answer;
      url = new URL(location, url);
      const { authorization, ...others } = request.headers;
      const isSame = url.origin === first.origin && authorization !== undefined;
      asked = { headers: { ...others, ...(isSame && { authorization }) } };
    }
    throw new Error(`it sends us on more than ${maxRedirects} times`);
  }

  async #once(
    url: URL,
    { method = 'GET', headers, body }: Request,
    read: (answer: IncomingMessage) => Promise<Buffer>,
  ): Promise<Answer> {
    const signal = AbortSignal.timeout(this.limitMs);
    try {
      const isPlain = url.protocol === 'http:';
      if (isPlain ? !isLoopback(url.hostname) : url.protocol !== 'https:')
        throw new Error(`it names ${url.origin}, which is not asked, because there is no TLS`);
      const options = {
        method,
        headers,
        signal,
        ...(isPlain ? { agent: false as const } : await this.#secure(url, signal)),
      };
      const answer = await answerTo((isPlain ? http : https).request(url, options), body);
      return { status: answer.statusCode ?? 0, headers: answer.headers, body: await read(answer) };
    } catch (reason) {
      throw signal.aborted ? new Error(`no answer for ${this.limitMs / 1000} s`) : reason;
    }
  }

  async #secure(url: URL, signal: AbortSignal): Promise<RequestOptions> {
    const ca = (this.#ca ??= authoritiesWith(this.network.caFile));
    const tls = ca && { ca };
    const place = placeOfUrl(url.href);
    const proxy = place && !isLoopback(url.hostname) ? proxyFor(this.network, place, 'https') : undefined;
    if (place === undefined || proxy === undefined) return { ...tls, agent: false };
    const options = { ...tls, ...(await tunnelTo(place, proxy, signal)) };
    return { createConnection: () => connect(options) };
  }
}

function answerTo(asking: ClientRequest, body: string | undefined): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    asking.on('response', resolve).on('error', reject).end(body);
    // Without somebody who hears of it, nothing would ever be said of the request.
    asking.on('upgrade', (_answer, socket) => {
      socket.destroy();
      reject(new Error('it changed to another protocol'));
    });
  });
}

function tooLong(limitBytes: number): () => Error {
  return () => new Error(`its answer has more than ${limitBytes / 2 ** 20} MiB`);
}
