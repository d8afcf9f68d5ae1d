/**
 * A server of ACP by WebSocket that a test plays by hand. Connections go on by another socket, as `cai serve` has
 * it: both ends count messages, and a ping tells how many were sent.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import { Inbox, type Json } from '../../support/inbox';

/** One connection, whatever sockets it has had. */
export class ServedConnection {
  readonly id = randomUUID();
  /** What the client has sent. */
  readonly inbox = new Inbox('server');
  /** Heads of the requests that have opened its sockets. */
  readonly requests: IncomingMessage[] = [];
  /** Payloads of the client's pings. */
  readonly pings: number[] = [];
  /** How many messages the client has sent. */
  received = 0;
  readonly #lines: string[] = [];
  #wake: (() => void)[] = [];
  #socket: WebSocket | undefined;

  constructor(readonly onMessage: (connection: ServedConnection, message: Json) => void) {}

  /** Bytes that the client has not taken. */
  get waitingBytes(): number {
    return this.#socket?.bufferedAmount ?? 0;
  }

  /** Resolves when it has no socket. */
  async detached(): Promise<void> {
    while (this.#socket !== undefined) await this.#change();
  }

  /** Resolves when so many pings have come. */
  async pinged(count: number): Promise<void> {
    while (this.pings.length < count) await this.#change();
  }

  /** Sends a message now, or when there is a socket again. */
  send(message: Json | string): void {
    const line = typeof message === 'string' ? message : JSON.stringify({ jsonrpc: '2.0', ...message });
    this.#lines.push(line);
    this.#socket?.send(line);
  }

  /** Answers a request with a result. */
  answer(request: Json, result: unknown): void {
    this.send({ id: request.id, result });
  }

  /** The socket is the client's from now on; `after`: how many messages it has. */
  attach(socket: WebSocket, request: IncomingMessage, after: number): void {
    this.#socket?.close(4000);
    this.#socket = socket;
    this.requests.push(request);
    socket.on('message', (data: Buffer, isBinary) => {
      if (socket !== this.#socket) return;
      expect(isBinary).toBe(false);
      this.received++;
      this.inbox.push(Buffer.from(`${data.toString()}\n`));
      this.onMessage(this, JSON.parse(data.toString()) as Json);
    });
    socket.on('ping', (payload) => {
      this.pings.push(Number(payload.toString()));
      this.#changed();
    });
    socket.on('error', () => undefined);
    socket.on('close', (code) => {
      if (socket !== this.#socket) return;
      this.#socket = undefined;
      this.#changed();
      if (code === 1000 || code === 1005) this.inbox.end(`closed with ${code}`);
    });
    for (const line of this.#lines.slice(after)) socket.send(line);
  }

  /** Reads no more, or again. */
  setPaused(isPaused: boolean): void {
    if (isPaused) this.#socket!.pause();
    else this.#socket!.resume();
  }

  /** Ends the socket: with a close frame, or without a word. */
  cut(code?: number, reason?: string): void {
    if (code === undefined) this.#socket?.terminate();
    else this.#socket?.close(code, reason);
  }

  async #change(): Promise<void> {
    await new Promise<void>((resolve) => this.#wake.push(resolve));
  }

  #changed(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}

/** How a server differs from the usual. */
export interface ScriptedServerOptions {
  /** It is encrypted. */
  readonly tls?: ServerOptions;
  /** It answers to no other token. */
  readonly token?: string;
  /** It is of the plain kind, whose connections end with their sockets. */
  readonly isPlain?: boolean;
  /** Called for every message of a client. */
  readonly onMessage?: (connection: ServedConnection, message: Json) => void;
  /** Answers attempts with this status instead, as long as it is not 101. */
  status?: number;
}

/** The server, on a port or a Unix socket. */
export class ScriptedServer {
  /** All that were begun, also those that are over. */
  readonly begun: ServedConnection[] = [];
  /** Attempts that were refused. */
  refused = 0;
  readonly #known = new Map<string, ServedConnection>();
  readonly #http;
  readonly #webSockets = new WebSocketServer({ noServer: true, maxPayload: 2 ** 27 });
  #wake: (() => void)[] = [];

  constructor(readonly options: ScriptedServerOptions = {}) {
    this.#http = options.tls === undefined ? createServer() : createTlsServer(options.tls);
    this.#http.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => undefined);
      this.#upgrade(request, socket, head);
    });
  }

  /** Listens; returns the port. */
  async listen(where: number | string = 0): Promise<number> {
    this.#http.listen(typeof where === 'number' ? { port: where, host: '127.0.0.1' } : { path: where });
    await once(this.#http, 'listening');
    return typeof where === 'number' ? (this.#http.address() as AddressInfo).port : 0;
  }

  /** Resolves with the connection of that number, from 1, once it is begun. */
  async connection(number = 1): Promise<ServedConnection> {
    while (this.begun.length < number) await new Promise<void>((resolve) => this.#wake.push(resolve));
    return this.begun[number - 1]!;
  }

  /** Forgets all connections, as one that is started anew. */
  restart(): void {
    const known = [...this.#known.values()];
    this.#known.clear();
    for (const connection of known) connection.cut(1001);
  }

  /** Forgets one connection, and leaves its socket. */
  forget(connection: ServedConnection): void {
    this.#known.delete(connection.id);
  }

  async close(): Promise<void> {
    for (const connection of this.begun) connection.cut();
    this.#http.closeAllConnections();
    if (!this.#http.listening) return;
    this.#http.close();
    await once(this.#http, 'close');
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { token, status } = this.options;
    const id = request.headers['acp-connection-id'] as string | undefined;
    const known = this.#known.get(id ?? '');
    const refuse = (code: number, text: string): void => {
      this.refused++;
      socket.end(`HTTP/1.1 ${code} No\r\nConnection: close\r\nContent-Length: ${text.length}\r\n\r\n${text}`);
    };
    if (status !== undefined && status !== 101) refuse(status, 'not now');
    else if (token !== undefined && request.headers.authorization !== `Bearer ${token}`)
      refuse(401, 'no such token');
    else if (id !== undefined && known === undefined) refuse(404, 'unknown connection');
    else this.#accept(known, request, socket, head);
  }

  #accept(known: ServedConnection | undefined, request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { isPlain, onMessage = () => undefined } = this.options;
    const connection = known ?? new ServedConnection(onMessage);
    const headers = [
      `Acp-Connection-Id: ${connection.id}`,
      `Set-Cookie: lane=${connection.id}; Path=/; HttpOnly`,
    ];
    if (isPlain !== true) headers.push(`Cai-Received: ${connection.received}`);
    this.#webSockets.once('headers', (lines: string[]) => lines.push(...headers));
    this.#webSockets.handleUpgrade(request, socket, head, (webSocket) => {
      connection.attach(
        webSocket,
        request,
        known === undefined ? 0 : Number(request.headers['cai-received']),
      );
    });
    if (known !== undefined) return;
    if (isPlain !== true) this.#known.set(connection.id, connection);
    this.begun.push(connection);
    for (const wake of this.#wake.splice(0)) wake();
  }
}
