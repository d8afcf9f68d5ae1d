/**
 * The HTTP proxy of a container: CONNECT, plain HTTP and upgrades of it. It speaks on streams that somebody else opens.
 * Source: RFC 9110 section 9.3.6 (CONNECT), RFC 9112 section 3.2 (forms of the target, Host).
 */
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import type { Duplex } from 'node:stream';
import { joinStreams } from '../../system/streams/tunnel-server';
import { normalHost, placeText, type Place } from '../../config/host-rules';
import { credentialsFor } from '../own-proxy';
import { throughOwn, type Dialler } from './dial';
import { forUpgrade, headersFor, headServer, pass, passUpgrade, refuse, serveRequests } from './http-message';
import type { KeyedHost } from './keyed-host';
import { Refusal, type Policy } from './policy';

/** How many connections may be open at once: each costs a descriptor here. */
const maxConnections = 512;
/** How much of what the container sends may wait for servers that do not take it, in bytes: a stalled one has 2 MiB. */
const maxUnreadBytes = 256 * 2 ** 20;
/** How often that is looked at, and what may still be reached, in milliseconds. */
const lookEveryMs = 500;

type Target = Readonly<{ place: Place; path: string }>;

export class EgressProxy {
  readonly #server = headServer();
  /** The open connections of the container, each with the places that it was admitted to and still leads to. */
  readonly #open = new Map<Duplex, Set<Place>>();

  /** Whatever `policy` admits is reached by `dialler`; a tunnel to a host with a key ends at `keyedHost`. */
  constructor(
    private readonly policy: Pick<Policy, 'admit' | 'stillAdmits' | 'noteEnd'>,
    private readonly dialler: Pick<Dialler, 'tunnel' | 'direct' | 'check' | 'noted' | 'proxyFor'>,
    private readonly keyedHost: (place: Place) => Pick<KeyedHost, 'open'> | undefined,
  ) {
    this.#server.on('connect', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
      this.#tunnel(request, stream, head).catch((reason: unknown) => refuse(stream, reason));
    });
    serveRequests(
      this.#server,
      (request, response) => this.#forward(request, response),
      (request, stream, head) => this.#upgrade(request, stream, head),
    );
    setInterval(() => {
      this.#endStalled();
      this.#endRefused();
    }, lookEveryMs).unref();
    this.#server.on('clientError', (_error, stream: Duplex) => refuse(stream, notUnderstood()));
  }

  take(stream: Duplex): void {
    stream.on('error', () => undefined);
    if (this.#open.size >= maxConnections) {
      const what = `more than ${maxConnections} connections are open`;
      refuse(stream, new Refusal(`${what}: close some, or try again later`, 503));
      return;
    }
    this.#open.set(stream, new Set());
    stream.on('close', () => this.#open.delete(stream));
    this.#server.emit('connection', stream);
  }

  /** Ends connections in which too much waits, those with most of it first. */
  #endStalled(): void {
    let unread = [...this.#open.keys()].reduce((sum, { readableLength }) => sum + readableLength, 0);
    if (unread <= maxUnreadBytes) return;
    for (const stream of [...this.#open.keys()].sort(
      (one, other) => other.readableLength - one.readableLength,
    )) {
      unread -= stream.readableLength;
      cutOff(stream);
      if (unread <= maxUnreadBytes) return;
    }
  }

  /** Ends connections to places that may be reached no more: an answer counts no longer, or a rule has changed. */
  #endRefused(): void {
    if (this.#open.size === 0) return;
    const isAdmitted = this.policy.stillAdmits();
    for (const [stream, places] of [...this.#open]) {
      const ended = [...places].filter((place) => !isAdmitted(place));
      for (const place of ended) this.policy.noteEnd(place);
      if (ended.length > 0) cutOff(stream);
    }
  }

  /** Rejects with a `Refusal`. */
  async #admit(stream: Duplex, place: Place): Promise<void> {
    await this.policy.admit(place);
    this.#open.get(stream)?.add(place);
  }

  async #tunnel(request: IncomingMessage, stream: Duplex, head: Buffer): Promise<void> {
    const place = placeOf(request.url ?? '');
    const take = await this.#wayTo(place, stream);
    stream.write('HTTP/1.1 200 Connection established\r\n\r\n');
    take(head);
  }

  /** What becomes of an upgraded connection is not looked at: it leads to that one place. */
  async #upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): Promise<void> {
    const { place, path } = targetOf(request);
    const far = await this.#reach(stream, place);
    const headers = headersFor(request, place, forUpgrade);
    passUpgrade({ method: request.method, path, headers }, { stream, head, far });
  }

  /** What takes the stream, from `head` on, once the tunnel is said to stand. */
  async #wayTo(place: Place, stream: Duplex): Promise<(head: Buffer) => void> {
    const keyed = this.keyedHost(place);
    if (keyed === undefined) {
      const far = await this.#reach(stream, place);
      return (head) => {
        far.write(head);
        joinStreams(stream, far);
      };
    }
    await this.#admit(stream, place);
    const take = await keyed.open();
    return (head) => {
      stream.unshift(head);
      take(stream);
    };
  }

  async #reach(stream: Duplex, place: Place): Promise<Duplex> {
    await this.#admit(stream, place);
    const far = await this.dialler.tunnel(place);
    // Whoever has asked may have gone meanwhile; each end tells its own errors.
    far.on('error', () => undefined);
    if (stream.destroyed) far.destroy();
    return far;
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // The proxy of this machine may answer with all that it got, its password, too. Source: RFC 9110, section 9.3.8.
    if (request.method === 'TRACE') throw new Refusal('TRACE is not passed on', 400);
    const { place, path } = targetOf(request);
    const { socket } = request;
    await this.#admit(socket, place);
    try {
      await this.#send(request, response, { place, path });
    } finally {
      // The next request on this connection may be for another place.
      this.#open.get(socket)?.delete(place);
    }
  }

  async #send(request: IncomingMessage, response: ServerResponse, { place, path }: Target): Promise<void> {
    const proxy = this.dialler.proxyFor(place, 'http');
    const onward = await this.#onward(place, path, proxy);
    const headers = [
      ...headersFor(request, place),
      ...(proxy === undefined ? [] : credentialsFor(proxy)),
    ].flat();
    const { request: send } = proxy?.protocol === 'https:' ? https : http;
    const sent = send({ ...onward, method: request.method, headers, setHost: false });
    const passed = pass(request, response, sent, place);
    await (proxy === undefined ? passed : this.dialler.noted(place, passed, throughOwn));
  }

  /** `proxy`: of this machine. */
  async #onward(place: Place, path: string, proxy: URL | undefined): Promise<http.RequestOptions> {
    if (proxy === undefined) {
      const far = await this.dialler.direct(place);
      return { path, createConnection: () => far };
    }
    await this.dialler.check(place);
    const whole = `http://${placeText(place)}${path}`;
    return { host: proxy.hostname.replace(/^\[|\]$/g, ''), port: proxy.port, path: whole, agent: false };
  }
}

/** It counts as closed, for ssh2, only once all of it was read. */
function cutOff(stream: Duplex): void {
  stream.removeAllListeners('data').resume();
  stream.destroy();
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
function targetOf({ url = '' }: IncomingMessage): Target {
  const [, authority = '', path = ''] = /^(?:http|ws):\/\/([^/?#@]+)([/?][^#]*)?$/i.exec(url) ?? [];
  const place = placeOf(/:\d+$/.test(authority) ? authority : `${authority}:80`);
  return { place, path: path.startsWith('/') ? path : `/${path}` };
}

function notUnderstood(): Refusal {
  return new Refusal(
    'this is no request to an HTTP proxy: CONNECT HOST:PORT, or an address http://HOST/PATH',
    400,
  );
}
