/**
 * A host that gets keys or tokens of the user: TLS from the container ends here, and they are put into each request, which
 * goes on by another TLS connection, to that host alone.
 */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import https from 'node:https';
import type { Duplex } from 'node:stream';
import { connect, createSecureContext, TLSSocket, type SecureContext } from 'node:tls';
import type { Place } from '../../config/host-rules';
import { identityFor, type Identity } from '../keys/authority';
import { placeholdersIn, type Keyable } from '../keys/swap';
import { messageOf } from '../../errors';
import { opened, type Dialler } from './dial';
import {
  forUpgrade,
  headersFor,
  headServer,
  joinUpgraded,
  pass,
  serveRequests,
  wholeText,
} from './http-message';
import { Refusal } from './policy';
import type { Exchange, TokenAnswer, TokenMessage } from './token-exchange';

export interface KeyedHostOptions {
  /** The request with keys and tokens. Rejects with an error that says why they cannot be had. */
  readonly withKeys: (request: Keyable) => Promise<Keyable>;
  /** What answers requests for tokens at a path; `undefined`: nobody asks for tokens there. */
  readonly exchangeAt: (path: string) => Exchange | undefined;
  readonly authority: () => Promise<Identity>;
  readonly dialler: Pick<Dialler, 'tunnel'>;
  /** Those that the user's configuration trusts, as PEM; `undefined`: the usual ones alone. */
  readonly authorities: () => string[] | undefined;
}

/** How long a connection to the host is kept that nothing uses, in milliseconds. */
const idleMs = 60_000;
/** How long our certificate for the host is used, in milliseconds: it is good for much longer. */
const renewMs = 86_400_000;

export class KeyedHost {
  readonly #server = headServer();
  readonly #agent = new https.Agent({ keepAlive: true, timeout: idleMs });
  #context: Promise<SecureContext> | undefined;
  /** When the context is made again, by `Date.now`: a laptop sleeps. */
  #contextEndsAt = 0;

  /** `place`: the host, on the port of HTTPS. */
  constructor(
    private readonly place: Place,
    private readonly options: KeyedHostOptions,
  ) {
    // Whoever asks again soon has the same connection.
    this.#agent.createConnection = (_options, done) => {
      this.#connect().then(
        (socket) => done?.(null, socket),
        (reason: unknown) => done?.(reason as Error, undefined as never),
      );
      return undefined;
    };
    serveRequests(
      this.#server,
      (request, response) => this.#forward(request, response),
      (request, stream, head) => this.#upgrade(request, stream, head),
    );
  }

  /** Makes ready to be taken for the host; returns what then serves a connection. Rejects with a `Refusal`. */
  async open(): Promise<(stream: Duplex) => void> {
    if (Date.now() > this.#contextEndsAt) {
      this.#context = undefined;
      this.#contextEndsAt = Date.now() + renewMs;
    }
    this.#context ??= this.options
      .authority()
      .then((authority) => identityFor(this.place.host, authority))
      .then(createSecureContext);
    const secureContext = await this.#context.catch((reason: unknown) => {
      this.#context = undefined;
      throw new Refusal(messageOf(reason), 502);
    });
    return (stream) => {
      const inner = new TLSSocket(stream, { isServer: true, secureContext, ALPNProtocols: ['http/1.1'] });
      inner.on('error', () => stream.destroy());
      this.#server.emit('connection', inner);
    };
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const keyed = await this.#keyed(request);
    const exchange = this.options.exchangeAt(keyed.path);
    if (exchange !== undefined) await this.#exchange(request, response, keyed, exchange);
    else await pass(request, response, this.#sent(request, keyed), this.place);
  }

  #sent({ method }: IncomingMessage, { path, headers }: Keyable, own?: TLSSocket) {
    const way = own === undefined ? { agent: this.#agent } : { createConnection: () => own };
    return https.request({ ...this.place, path, method, headers: headers.flat(), setHost: false, ...way });
  }

  async #exchange(
    request: IncomingMessage,
    response: ServerResponse,
    keyed: Keyable,
    exchange: Exchange,
  ): Promise<void> {
    const { 'content-type': type, 'content-encoding': coding } = request.headers;
    if (coding !== undefined) throw new Refusal('a request for tokens must not be compressed', 400);
    const inHeaders = placeholdersIn(headersFor(request, this.place));
    if (inHeaders.length > 1)
      throw new Refusal('a request for tokens must have at most one token in its headers', 400);
    const asked = { type, body: await wholeText(request), inHeaders };
    const answer = await exchange(asked, (path, own) =>
      this.#answerTo(request, { path, headers: keyed.headers }, own),
    );
    response.writeHead(answer.status, answer.type === undefined ? {} : { 'Content-Type': answer.type });
    response.end(answer.body);
  }

  /** Asks for tokens, with another body than the request's. Rejects with a `Refusal`. */
  async #answerTo(
    request: IncomingMessage,
    { path, headers }: Keyable,
    { type, body }: TokenMessage,
  ): Promise<TokenAnswer> {
    const others = headers.filter(
      ([name]) => !/^(?:accept(?:-encoding)?|content-(?:length|type)|expect|transfer-encoding)$/i.test(name),
    );
    const own = [
      ['Accept', 'application/json'],
      ...(type === undefined ? [] : [['Content-Type', type] as const]),
      ['Content-Length', String(Buffer.byteLength(body))],
    ] as const;
    // A connection that was used before could break now: a refresh token would be used up without an answer.
    const sent = this.#sent(request, { path, headers: [...others, ...own] }, await this.#connect());
    // `once` below listens only until the answer begins, but an error can come later, too.
    sent.on('error', () => undefined);
    const answered = once(sent, 'response').then(async ([got]: IncomingMessage[]) => ({
      status: got!.statusCode ?? 502,
      type: got!.headers['content-type'],
      body: await wholeText(got!, 502),
    }));
    sent.end(body);
    await opened(this.place, sent, answered);
    return await answered;
  }

  async #upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): Promise<void> {
    const keyed = await this.#keyed(request, forUpgrade);
    if (this.options.exchangeAt(keyed.path) !== undefined)
      throw new Refusal('a request for tokens must not ask for another protocol', 400);
    const { upgrade = '', 'content-length': length = '0', 'transfer-encoding': coding } = request.headers;
    // Nobody looks at what follows, so it must not be a request, which could ask for tokens.
    if (/\b(?:h2c?|https?|tls)\b/i.test(upgrade) || length !== '0' || coding !== undefined)
      throw new Refusal('a request for another protocol must have no body, and not ask for HTTP or TLS', 400);
    const sent = this.#sent(request, keyed, await this.#connect());
    await joinUpgraded({ stream, head, sent }, this.place);
  }

  /** The request as it goes out. Rejects with a `Refusal`. */
  async #keyed(request: IncomingMessage, kept?: readonly string[]): Promise<Keyable> {
    const { method, url = '' } = request;
    // Servers answer TRACE with the headers that they got.
    if (method === 'TRACE' || !url.startsWith('/'))
      throw new Refusal('neither TRACE nor a request for a whole address is passed on', 400);
    const plain = { path: url, headers: headersFor(request, this.place, kept) };
    return await this.options.withKeys(plain).catch((reason: unknown) => {
      throw new Refusal(messageOf(reason), 502);
    });
  }

  async #connect(): Promise<TLSSocket> {
    const { dialler, authorities } = this.options;
    const ca = authorities();
    const socket = connect({
      socket: await dialler.tunnel(this.place),
      servername: this.place.host,
      ALPNProtocols: ['http/1.1'],
      // Also where NODE_TLS_REJECT_UNAUTHORIZED says otherwise.
      rejectUnauthorized: true,
      ...(ca !== undefined && { ca }),
    });
    return await opened(this.place, socket, once(socket, 'secureConnect'));
  }
}
