/**
 * The HTTP proxy of a container: CONNECT, plain HTTP and upgrades of it. It speaks on streams that somebody else opens.
 * Source: RFC 9110 section 9.3.6 (CONNECT), RFC 9112 section 3.2 (forms of the target, Host).
 */
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import { pipeline, type Duplex } from 'node:stream';
import { joinStreams } from '../container/ssh/tunnel-server';
import { normalHost, placeText, type Place } from '../config/host-rules';
import { messageOf } from '../errors';
import { printableLine } from '../system/quoted';
import { credentialsFor, type Dialler } from './dial';
import { Refusal, type Policy } from './policy';

/** How many connections may be open at once: each costs a descriptor here. */
const maxConnections = 512;
/** One for each command. */
export class EgressProxy {
  readonly #server = http.createServer({ maxHeaderSize: 64 * 1024 });
  #open = 0;

  /** Whatever `policy` admits is reached by `dialler`. */
  constructor(
    private readonly policy: Pick<Policy, 'admit'>,
    private readonly dialler: Pick<Dialler, 'tunnel' | 'direct' | 'check' | 'proxyFor'>,
  ) {
    this.#server.on('connect', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
      this.#tunnel(request, stream, head).catch((reason: unknown) => refuse(stream, reason));
    });
    this.#server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
      this.#upgrade(request, stream, head).catch((reason: unknown) => refuse(stream, reason));
    });
    this.#server.on('request', (request, response) => {
      this.#forward(request, response).catch((reason: unknown) => {
        if (response.headersSent) response.destroy();
        else answer(response, reason);
      });
    });
    this.#server.on('clientError', (_error, stream: Duplex) => refuse(stream, notUnderstood()));
  }

  /** Serves a connection. */
  take(stream: Duplex): void {
    stream.on('error', () => undefined);
    if (this.#open >= maxConnections) {
      const what = `more than ${maxConnections} connections are open`;
      refuse(stream, new Refusal(`${what}: close some, or try again later`, 503));
      return;
    }
    this.#open++;
    stream.on('close', () => this.#open--);
    this.#server.emit('connection', stream);
  }

  async #tunnel(request: IncomingMessage, stream: Duplex, head: Buffer): Promise<void> {
    const far = await this.#reach(stream, placeOf(request.url ?? ''));
    stream.write('HTTP/1.1 200 Connection established\r\n\r\n');
    far.write(head);
    joinStreams(stream, far);
  }

  /** What becomes of an upgraded connection is not looked at: it leads to that one place. */
  async #upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): Promise<void> {
    const { place, path } = targetOf(request);
    const far = await this.#reach(stream, place);
    const fields = headersFor(request, place, ['connection', 'upgrade']);
    const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`);
    far.write(`${request.method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1');
    far.write(head);
    joinStreams(stream, far);
  }

  async #reach(stream: Duplex, place: Place): Promise<Duplex> {
    await this.policy.admit(place);
    const far = await this.dialler.tunnel(place);
    // Whoever has asked may have gone meanwhile; each end tells its own errors.
    far.on('error', () => undefined);
    if (stream.destroyed) far.destroy();
    return far;
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { place, path } = targetOf(request);
    await this.policy.admit(place);
    const proxy = this.dialler.proxyFor(place, 'http');
    const onward = await this.#onward(place, path, proxy);
    const headers = [
      ...headersFor(request, place),
      ...(proxy === undefined ? [] : credentialsFor(proxy)),
    ].flat();
    const { request: send } = proxy?.protocol === 'https:' ? https : http;
    const sent = send({ ...onward, method: request.method, headers, setHost: false });
    await new Promise<void>((resolve, reject) => {
      sent.on('error', (reason) =>
        reject(new Refusal(`${placeText(place)} broke off (${printableLine(messageOf(reason))})`, 502)),
      );
      sent.on('response', (got) => {
        response.writeHead(got.statusCode ?? 502, got.statusMessage, endToEnd(got).flat());
        pipeline(got, response, () => resolve());
      });
      response.on('close', () => sent.destroy());
      pipeline(request, sent, () => undefined);
    });
  }

  /** `proxy`: of this machine. */
  async #onward(place: Place, path: string, proxy: URL | undefined): Promise<http.RequestOptions> {
    if (proxy === undefined) {
      const far = await this.dialler.direct(place);
      return { path, createConnection: () => far };
    }
    await this.dialler.check(place);
    const whole = `http://${placeText(place)}${path}`;
    return { host: proxy.hostname, port: proxy.port, path: whole, agent: false };
  }
}

/** The target of CONNECT. Fails with a `Refusal`. */
function placeOf(authority: string): Place {
  const [, name = '', digits] = /^(.+):(\d{1,5})$/.exec(authority) ?? [];
  const host = normalHost(name);
  const port = Number(digits);
  if (host === undefined || !(port >= 1 && port <= 65_535)) throw notUnderstood();
  return { host, port };
}

/** Where a request for a whole address leads. Fails with a `Refusal` for one that names no host, or a user. */
function targetOf({ url = '' }: IncomingMessage): { readonly place: Place; readonly path: string } {
  const [, authority = '', path = ''] = /^(?:http|ws):\/\/([^/?#@]+)([^#]*)$/i.exec(url) ?? [];
  const place = placeOf(/:\d+$/.test(authority) ? authority : `${authority}:80`);
  return { place, path: path.startsWith('/') ? path : `/${path}` };
}

function notUnderstood(): Refusal {
  return new Refusal(
    'this is no request to an HTTP proxy: CONNECT HOST:PORT, or an address http://HOST/PATH',
    400,
  );
}

/** Headers for one connection alone. Source: RFC 9110 section 7.6.1. */
const forOneConnection = new Set(
  'connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding upgrade'.split(
    ' ',
  ),
);

/** The headers of a message as they came, but for those that are for this connection, unless `kept`. */
function endToEnd(message: IncomingMessage, kept: readonly string[] = []): [string, string][] {
  const named = (message.headers.connection ?? '').toLowerCase().split(/\s*,\s*/);
  const { rawHeaders } = message;
  return rawHeaders
    .map((name, at): [string, string] => [name, rawHeaders[at + 1] ?? ''])
    .filter((_, at) => at % 2 === 0)
    .filter(([name]) => {
      const lower = name.toLowerCase();
      return kept.includes(lower) || !(forOneConnection.has(lower) || named.includes(lower));
    });
}

/** What is passed on of a request: the `Host` is the place that was admitted, whatever the request says. */
function headersFor(request: IncomingMessage, place: Place, kept?: readonly string[]): [string, string][] {
  const rest = endToEnd(request, kept).filter(([name]) => name.toLowerCase() !== 'host');
  return [['Host', place.port === 80 ? placeText(place).replace(/:80$/, '') : placeText(place)], ...rest];
}

/** Tells why there is no connection, and ends it. Tools show either the status line or the body. */
function refuse(stream: Duplex, reason: unknown): void {
  if (!stream.writable) {
    stream.destroy();
    return;
  }
  const { status, text } = told(reason);
  const body = `${text}\n`;
  stream.end(
    `HTTP/1.1 ${status} ${text}\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
  );
}

function answer(response: ServerResponse, reason: unknown): void {
  const { status, text } = told(reason);
  response.writeHead(status, text, { 'Content-Type': 'text/plain', Connection: 'close' }).end(`${text}\n`);
}

/** In ASCII, on one line: a status line takes no more. */
function told(reason: unknown): { readonly status: number; readonly text: string } {
  const status = reason instanceof Refusal ? reason.status : 502;
  const text = printableLine(`cai: ${messageOf(reason)}`).replace(/[^ -~]/g, '?');
  return { status, text };
}
