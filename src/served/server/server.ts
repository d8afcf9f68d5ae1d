/** Listens: HTTP/1.1, HTTP/2 where TLS is ours, plain lines, and a socket for the user alone. */
import { chmodSync, rmSync, statSync } from 'node:fs';
import * as http from 'node:http';
import * as http2 from 'node:http2';
import * as net from 'node:net';
import * as tls from 'node:tls';
import { dirname } from 'node:path';
import { CaiError, messageOf, errorCodeOf } from '../../errors';
import type { Log } from '../../system/log';
import type { ListenAddress } from './listen-address';
import type { Connections } from './connections';
import type { Response } from './http/event-stream';
import type { Door } from './door/door';
import type { Request } from './door/request-rules';
import { statusOf } from './http/http-error';
import { isRefusal, type Refusal, type Visitor } from './door/visitor';
import type { WaitingSockets } from './door/waiting-sockets';
import { endWith } from './last-words';
import { firstLine, PlainSocket } from './plain-socket';
import type { Routes } from './routes';
import { makeFolder } from '../../system/files/make-folder';

/** How long a client may take for its headers, for a whole request, and for the first line of a plain socket; in ms. */
const headersMs = 10_000;
const requestMs = 120_000;
/** How often Node looks for clients that take longer, in milliseconds. */
const checkMs = 2_000;
/** Sockets beside those of connections: by which nobody was let in, and for single requests of those who were. */
export const spareSockets = 256;
/** How long a session of HTTP/2 may have no stream, in milliseconds. */
const quietMs = 30_000;
/** Streams of one client over HTTP/2: one for each session, and one for each message on its way. */
const maxStreams = 1_024;

/** Who has said all may still be answered. */
const halfOpen = { allowHalfOpen: true };

export interface ServerOptions {
  readonly routes: Routes;
  readonly door: Door;
  readonly connections: Connections;
  /** The server's certificate, for addresses with TLS; undefined: it has no TLS. */
  readonly tls: tls.TlsOptions | undefined;
  /** Longest line of a client of a plain socket. */
  readonly maxLineBytes: number;
  /** Whose sockets these are. */
  readonly uid: number;
  /** Those of TCP by which nobody was let in, at most `spareSockets`. */
  readonly waiting: WaitingSockets;
  /** At most so many connections: their sockets, and twice `spareSockets` besides. */
  readonly maxConnections: number;
  /** Has what goes wrong while it listens. */
  readonly log: Log;
}

/** Listens on any number of addresses. */
export class Server {
  readonly #servers: net.Server[] = [];
  readonly #sockets = new Set<net.Socket>();
  #closed: Promise<unknown> | undefined;

  constructor(private readonly options: ServerOptions) {}

  /** Resolves with the address, where port 0 has become one; rejects with `CaiError` if it cannot be had. */
  async listen(address: ListenAddress): Promise<ListenAddress> {
    if (address.kind === 'unix') {
      await makeRoomFor(address.path, this.options.uid);
      await this.#start(this.#unixServer(), { path: address.path }, address.path);
      chmodSync(address.path, 0o600);
      return address;
    }
    const { host, port, isTls } = address;
    const server = address.kind === 'http' ? this.#httpServer(isTls) : this.#plainServer(isTls);
    const bound = await this.#start(server, { host, port }, `${host}:${port}`);
    const actual = { ...address, port: (bound as net.AddressInfo).port };
    this.options.door.listensOn(host);
    return actual;
  }

  /** Takes no more sockets; requests of those that are there are refused, while connections are being closed. */
  stopListening(): void {
    this.options.routes.stop();
    this.#closed ??= Promise.all(
      this.#servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve()))),
    );
  }

  async close(): Promise<void> {
    this.stopListening();
    for (const socket of this.#sockets) socket.destroy();
    await this.#closed;
  }

  async #start(
    server: net.Server,
    options: net.ListenOptions,
    name: string,
  ): Promise<net.AddressInfo | string> {
    server.maxConnections = this.options.maxConnections + 2 * spareSockets;
    const keep = (socket: net.Socket): void => {
      this.#sockets.add(socket);
      if ('port' in options) this.options.waiting.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    };
    server.on('connection', keep);
    await new Promise<void>((resolve, reject) => {
      const fail = (reason: unknown): void =>
        reject(new CaiError('USAGE', `cannot listen on ${name}: ${listenProblem(reason)}`));
      server.once('error', fail);
      server.listen(options, () => {
        server.off('error', fail);
        resolve();
      });
    });
    // Such as too many open files: it goes on with those that are there.
    server.on('error', (err) => this.options.log.error({ err }, `a client of ${name} could not be taken`));
    this.#servers.push(server);
    return server.address()!;
  }

  #httpServer(isTls: boolean, isLocal = false): http.Server | http2.Http2SecureServer {
    const { routes } = this.options;
    const limits = {
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: checkMs,
    };
    const server = isTls
      ? http2.createSecureServer({
          ...this.#certificates(),
          handshakeTimeout: headersMs,
          allowHTTP1: true,
          settings: { maxConcurrentStreams: maxStreams },
        })
      : http.createServer(limits);
    // A server of HTTP/2 takes these for its clients of HTTP/1.1 alone, and not as options.
    Object.assign(server, limits);
    server.on('session', endOnceQuiet);
    server.on(
      'request',
      (request: Request, response: Response) => void routes.request(request, response, isLocal),
    );
    server.on('upgrade', (request: http.IncomingMessage, socket: net.Socket, head: Buffer) =>
      routes.upgrade(request, socket, head, isLocal),
    );
    return server;
  }

  #plainServer(isTls: boolean): net.Server {
    const serve = (socket: net.Socket): void => void this.#servePlain(socket);
    if (!isTls) return net.createServer(halfOpen, serve);
    return tls.createServer({ ...halfOpen, ...this.#certificates(), handshakeTimeout: headersMs }, serve);
  }

  /** JSON begins with a brace, which HTTP never does. */
  #unixServer(): net.Server {
    const forHttp = this.#httpServer(false, true);
    return net.createServer(halfOpen, (socket) => {
      socket.setTimeout(headersMs, () => socket.destroy());
      socket.on('error', () => socket.destroy());
      socket.once('data', (chunk) => {
        socket.pause();
        socket.setTimeout(0);
        socket.unshift(chunk);
        if (/^\s*\{/.test(chunk.toString('latin1', 0, 100)))
          this.#carryFor(socket, this.options.door.admitLocal());
        else {
          forHttp.emit('connection', socket);
          // It does not by itself read on where somebody has paused before.
          setImmediate(() => socket.resume());
        }
      });
    });
  }

  /** The first line of a plain client says who it is, as the header of HTTP does. */
  async #servePlain(socket: net.Socket): Promise<void> {
    socket.on('error', () => socket.destroy());
    const line = await firstLine(socket, headersMs);
    const token = /^authorization: bearer (\S+)\s*$/i.exec(line ?? '')?.[1];
    const visitor =
      token === undefined
        ? { status: 401, text: 'the first line is "Authorization: Bearer TOKEN"' }
        : this.options.door.admitToken(token, socket.remoteAddress ?? '');
    this.#carryFor(socket, visitor);
  }

  #carryFor(socket: net.Socket, visitor: Visitor | Refusal): void {
    if (isRefusal(visitor)) {
      endWith(socket, `${visitor.status} ${visitor.text}\n`);
      return;
    }
    const { waiting, routes, connections, maxLineBytes } = this.options;
    waiting.letIn(socket);
    try {
      routes.checkGoesOn();
      new PlainSocket(socket, connections.open(visitor, undefined, false), maxLineBytes);
    } catch (reason) {
      endWith(socket, `${statusOf(reason)} ${messageOf(reason)}\n`);
    }
  }

  #certificates(): tls.TlsOptions {
    if (this.options.tls !== undefined) return this.options.tls;
    throw new CaiError('USAGE', 'https and tls need a certificate: set "tls_cert" and "tls_key" in [serve]');
  }
}

/** Node itself does not limit these. */
function endOnceQuiet(session: http2.Http2Session): void {
  let streams = 0;
  const start = () => setTimeout(() => session.destroy(), quietMs).unref();
  let timer = start();
  session.on('stream', (stream: http2.Http2Stream) => {
    streams++;
    clearTimeout(timer);
    stream.once('close', () => {
      streams--;
      if (streams === 0 && !session.destroyed) timer = start();
    });
  });
  session.once('close', () => clearTimeout(timer));
}

/** Removes the socket of a server that is gone. Throws `CaiError('USAGE')` where one is, or where others could come in. */
async function makeRoomFor(path: string, user: number): Promise<void> {
  const folder = dirname(path);
  makeFolder(folder);
  const { mode, uid } = statSync(folder);
  if ((mode & 0o077) !== 0 || uid !== user)
    throw new CaiError(
      'USAGE',
      `${folder} can be entered by others, who could come in without a token: run chmod 700 on it, or choose another folder`,
    );
  const isServed = await new Promise<boolean>((resolve) => {
    const socket = net.connect({ path });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
  if (isServed)
    throw new CaiError('USAGE', `another cai serve listens on ${path}: end it, or choose another path`);
  const left = statSync(path, { throwIfNoEntry: false });
  if (left?.isSocket() === false)
    throw new CaiError('USAGE', `${path} is there, and is no socket: choose another name`);
  rmSync(path, { force: true });
}

function listenProblem(reason: unknown): string {
  return errorCodeOf(reason) === 'EADDRINUSE' ? 'another program listens there' : messageOf(reason);
}
