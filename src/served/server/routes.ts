/** What a server answers at which path, to whom it lets in. */
import { STATUS_CODES, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { messageOf } from '../../errors';
import type { Log } from '../../system/log';
import type { ChatBridge } from './chat/chat-bridge';
import type { Connections } from './connections';
import type { Door } from './door/door';
import type { Request } from './door/request-rules';
import { isRefusal, type Refusal, type Visitor } from './door/visitor';
import type { Response } from './http/event-stream';
import { HttpError, statusOf } from './http/http-error';
import { StreamableHttp } from './http/streamable';
import { endWith } from './last-words';
import type { Metrics } from './metrics';
import { Page, type PageOptions } from './page/page';
import { WebSockets } from './websocket';

/** Where ACP is spoken. Source: ACP, "Streamable HTTP & WebSocket Transport". */
const acpPath = '/acp';

const standardHeaders = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
} as const;

export interface RoutesOptions {
  readonly door: Door;
  readonly connections: Connections;
  /** Counts, and is served at `/metrics`. */
  readonly metrics: Metrics;
  /** For panels that know no ACP; undefined: there is no such thing here. */
  readonly chat?: ChatBridge | undefined;
  /** Has a line of each request, at level info. */
  readonly log: Log;
  readonly maxMessageBytes: number;
  /** What the page shows besides. */
  readonly page: Pick<PageOptions, 'remembered' | 'address'>;
}

export class Routes {
  readonly #http: StreamableHttp;
  readonly #webSockets: WebSockets;
  readonly page: Page;
  #isStopped = false;

  constructor(private readonly options: RoutesOptions) {
    const { door, connections, metrics, log, maxMessageBytes, page } = options;
    this.#http = new StreamableHttp(connections, maxMessageBytes);
    this.#webSockets = new WebSockets(connections, metrics, log, maxMessageBytes);
    this.page = new Page({ door, connections, ...page, refuse: (refusal) => this.#refuse(refusal) });
  }

  /** From now on everything is refused: the server ends. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Throws `HttpError` once it was stopped. */
  checkGoesOn(): void {
    if (this.#isStopped) throw new HttpError(503, 'this server is being ended');
  }

  /** A request; `isLocal`: as of `Door.admit`. */
  async request(request: Request, response: Response, isLocal: boolean): Promise<void> {
    const since = performance.now();
    const url = targetOf(request);
    response.on('close', () => this.#record(request, url.pathname, response.statusCode, since));
    for (const [name, value] of Object.entries(standardHeaders)) response.setHeader(name, value);
    try {
      this.checkGoesOn();
      await this.#serve(request, response, url, isLocal);
    } catch (reason) {
      if (statusOf(reason) === 500) this.options.log.error({ err: reason }, 'a request could not be served');
      refuse(response, reason);
    }
  }

  upgrade(request: IncomingMessage, socket: Socket, head: Buffer, isLocal: boolean): void {
    const since = performance.now();
    const { pathname, searchParams } = targetOf(request);
    socket.on('error', () => socket.destroy());
    try {
      this.checkGoesOn();
      if (pathname !== acpPath) throw new HttpError(404, `WebSockets are at ${acpPath}`);
      const visitor = this.#admit(request, isLocal);
      this.#webSockets.upgrade(request, socket, head, visitor, searchParams.get('agent') ?? undefined);
      this.#record(request, pathname, 101, since);
    } catch (reason) {
      this.#record(request, pathname, statusOf(reason), since);
      refuseUpgrade(socket, reason);
    }
  }

  async #serve(request: Request, response: Response, url: URL, isLocal: boolean): Promise<void> {
    const { metrics } = this.options;
    const { pathname, searchParams } = url;
    const chat = pathname.startsWith(`${acpPath}/`) ? this.options.chat : undefined;
    if (pathname === '/healthz') {
      answer(response, 200, 'text/plain; charset=utf-8', 'ok\n');
    } else if (pathname === '/metrics') {
      const refusal = this.options.door.refusalOfMetrics(request, isLocal);
      if (refusal !== undefined) this.#refuse(refusal);
      const { type, body } = await metrics.text();
      answer(response, 200, type, body);
    } else if (pathname === acpPath || chat !== undefined) {
      if (this.#answersPreflight(request, response, isLocal)) return;
      const visitor = this.#admit(request, isLocal);
      allowOrigin(request, response);
      if (chat !== undefined) await chat.serve(request, response, visitor, pathname);
      else await this.#http.serve(request, response, visitor, searchParams.get('agent') ?? undefined);
    } else if (pathname === '/' || pathname.startsWith('/page/')) {
      await this.page.serve(request, response, pathname, isLocal);
    } else {
      this.#check(request, isLocal);
      throw new HttpError(404, 'there is nothing at this path');
    }
  }

  /** A browser asks whether a page of another origin may send a request. Source: Fetch, "CORS protocol". */
  #answersPreflight(request: Request, response: Response, isLocal: boolean): boolean {
    if (request.method !== 'OPTIONS') return false;
    this.#check(request, isLocal);
    allowOrigin(request, response);
    response.writeHead(204, preflightHeaders);
    response.end();
    return true;
  }

  /** For what needs no visitor. */
  #check(request: Request, isLocal: boolean): void {
    const refusal = this.options.door.check(request, isLocal);
    if (refusal !== undefined) this.#refuse(refusal);
  }

  #admit(request: Request, isLocal: boolean): Visitor {
    const visitor = this.options.door.admit(request, isLocal);
    if (isRefusal(visitor)) this.#refuse(visitor);
    return visitor;
  }

  #refuse({ status, text, headers = {} }: Refusal): never {
    this.options.metrics.refused(status);
    throw new HttpError(status, text, { headers });
  }

  /** Nothing of what was said, and no query. */
  #record(request: Request, path: string, status: number, since: number): void {
    const ms = Math.round(performance.now() - since);
    const address = request.socket.remoteAddress;
    this.options.log.info(
      { method: request.method, path: path.slice(0, 100), status, ms, address },
      'request',
    );
  }
}

const preflightHeaders = {
  'access-control-allow-methods': 'GET, POST, DELETE',
  'access-control-allow-headers':
    'Authorization, Content-Type, Acp-Connection-Id, Acp-Session-Id, Last-Event-ID',
  'access-control-max-age': '600',
};

/** Lets a page of another origin, which the door has let pass, read the answer. Source: Fetch, "CORS protocol". */
function allowOrigin({ headers }: Request, response: Response): void {
  if (headers.origin === undefined) return;
  response.setHeader('access-control-allow-origin', headers.origin);
  response.setHeader('access-control-expose-headers', 'Acp-Connection-Id');
  response.setHeader('vary', 'Origin');
}

/** The path and query of a request; of one that cannot be read, a path where nothing is. */
function targetOf({ url = '' }: Request): URL {
  const text = `http://localhost${url}`;
  return url.startsWith('/') && URL.canParse(text) ? new URL(text) : new URL('http://localhost/?');
}

function answer(response: Response, status: number, type: string, body: string | Buffer): void {
  response.writeHead(status, { 'content-type': type });
  response.end(body);
}

/** The rest of the request is not read. */
function refuse(response: Response, reason: unknown): void {
  const { status, text, headers } = refusalOf(reason);
  if (response.headersSent) {
    response.destroy();
    return;
  }
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (response.req.httpVersionMajor === 1) response.setHeader('connection', 'close');
  const { body } = reason instanceof HttpError ? reason.more : {};
  if (body === undefined) answer(response, status, 'text/plain; charset=utf-8', `${text}\n`);
  else answer(response, status, 'application/json', body);
}

function refuseUpgrade(socket: Duplex, reason: unknown): void {
  const { status, text, headers } = refusalOf(reason);
  const lines = Object.entries({
    ...standardHeaders,
    ...headers,
    'content-type': 'text/plain; charset=utf-8',
    'content-length': String(Buffer.byteLength(text) + 1),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  endWith(socket, `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${text}\n`);
}

/** What is told of a failure: nothing of a bug. */
function refusalOf(reason: unknown): Required<Refusal> {
  const status = statusOf(reason);
  const { headers = {} } = reason instanceof HttpError ? reason.more : {};
  return { status, text: status === 500 ? 'internal error' : messageOf(reason), headers };
}
