/**
 * A host that gets a key of the user's: TLS from the container ends here, and the key is put in on the way out, which is
 * TLS again, to that host alone.
 */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import https from 'node:https';
import type { Duplex } from 'node:stream';
import { connect, createSecureContext, rootCertificates, TLSSocket, type SecureContext } from 'node:tls';
import type { Place } from '../config/host-rules';
import { identityFor, type Identity } from '../credentials/authority';
import type { Secret } from '../credentials/secret';
import type { Credential } from '../credentials/services';
import { withKey, type Keyable } from '../credentials/swap';
import { messageOf } from '../errors';
import { opened, type Dialler } from './dial';
import { forUpgrade, headersFor, headServer, pass, passUpgrade, serveRequests } from './http-message';
import { Refusal } from './policy';

/** Whose key it is, and how it is used. */
export interface KeyedHostOptions {
  /** Of the user's configuration. */
  readonly credential: Credential;
  /** The key. */
  readonly secret: Pick<Secret, 'key'>;
  /** What containers trust. */
  readonly authority: () => Promise<Identity>;
  /** The way out. */
  readonly dialler: Pick<Dialler, 'tunnel'>;
  /** Certificates that the user's configuration trusts besides the usual ones, as PEM. */
  readonly certificates: () => Promise<string | undefined>;
}

/** For one command. */
export class KeyedHost {
  readonly #server = headServer();
  readonly #agent = new https.Agent({ keepAlive: true });
  #context: Promise<SecureContext> | undefined;

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
    const { path, headers } = await this.#keyed(request);
    const { host, port } = this.place;
    const options = { host, port, path, method: request.method, headers: headers.flat(), setHost: false };
    await pass(request, response, https.request({ ...options, agent: this.#agent }), this.place);
  }

  async #upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): Promise<void> {
    const keyed = await this.#keyed(request, forUpgrade);
    const far = await this.#connect();
    passUpgrade({ method: request.method, ...keyed }, { stream, head, far });
  }

  /** The request as it goes out. Rejects with a `Refusal`. */
  async #keyed(request: IncomingMessage, kept?: readonly string[]): Promise<Keyable> {
    const { method, url = '' } = request;
    // Servers answer TRACE with the headers that they got.
    if (method === 'TRACE' || !url.startsWith('/'))
      throw new Refusal('no request that can be passed on', 400);
    const key = await this.options.secret.key().catch((reason: unknown) => {
      throw new Refusal(messageOf(reason), 502);
    });
    return withKey(
      { path: url, headers: headersFor(request, this.place, kept) },
      this.options.credential,
      key,
    );
  }

  async #connect(): Promise<TLSSocket> {
    const { dialler } = this.options;
    const certificates = await this.options.certificates();
    const socket = connect({
      socket: await dialler.tunnel(this.place),
      servername: this.place.host,
      ALPNProtocols: ['http/1.1'],
      // Also where NODE_TLS_REJECT_UNAUTHORIZED says otherwise.
      rejectUnauthorized: true,
      ...(certificates !== undefined && { ca: [...rootCertificates, certificates] }),
    });
    return await opened(this.place, socket, once(socket, 'secureConnect'));
  }
}
