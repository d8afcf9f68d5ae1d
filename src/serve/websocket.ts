/**
 * WebSockets: each text frame is one message. Source: ACP, "Streamable HTTP & WebSocket Transport". A client that has lost
 * its socket comes back with `Acp-Connection-Id` and, in `Cai-Received`, the number of messages that it has.
 */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type RawData, type WebSocket } from 'ws';
import { onOneLine } from '../rpc/line';
import type { Log } from '../system/log';
import { numberOf } from './outbox';
import type { Closing, Outlet } from './outlet';
import type { ServedConnection } from './served-connection';
import type { Connections } from './connections';
import type { Visitor } from './door/visitor';
import type { Metrics } from './metrics';

/** The connection that a request is about. Source: as above. */
const connectionHeader = 'acp-connection-id';
/** Ours: how many messages of the connection its sender has received. */
const receivedHeader = 'cai-received';

/** Bytes that wait in a socket, above which no more is sent. */
const maxBufferedBytes = 1024 * 1024;
/** How often each socket is asked whether it lives; it has until the next time. In milliseconds. */
const pingMs = 15_000;
/** How long a reason may be. Source: RFC 6455, section 5.5: 125 bytes with the code. */
const maxReasonBytes = 123;

/** Source: RFC 6455, section 7.4; from 4000 on they are ours. */
const closeCodes: Readonly<Record<Closing, number>> = {
  ending: 1001,
  revoked: 1008,
  replaced: 4000,
  ended: 4001,
  slow: 4002,
  idle: 4003,
};
/** With these a client says that it needs the connection no more; 1005 stands for none. */
const finalCodes = [1000, 1005];

/** What answers upgrades. */
export class WebSockets {
  readonly #server: WebSocketServer;
  readonly #headers = new WeakMap<IncomingMessage, readonly string[]>();

  /** `maxFrameBytes`: longest message of a client. */
  constructor(
    private readonly connections: Connections,
    private readonly metrics: Metrics,
    private readonly log: Log,
    maxFrameBytes: number,
  ) {
    this.#server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: maxFrameBytes,
    });
    this.#server.on('headers', (headers, request) => headers.push(...(this.#headers.get(request) ?? [])));
  }

  /**
   * Takes an upgrade of somebody who was let in; `agent`: the one that they name. Throws `CaiError` for what cannot be
   * done, before anything is answered.
   */
  upgrade(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    visitor: Visitor,
    agent: string | undefined,
  ): void {
    const id = request.headers[connectionHeader] as string | undefined;
    const after = numberOf(request.headers[receivedHeader]);
    const connection =
      id === undefined
        ? this.connections.open(visitor, agent, false)
        : this.connections.find(id, visitor, false);
    if (id !== undefined) connection.check(after);
    this.#headers.set(request, [
      `Acp-Connection-Id: ${connection.id}`,
      `Cai-Received: ${connection.received}`,
    ]);
    this.#server.handleUpgrade(request, socket, head, (webSocket) => {
      if (id !== undefined) this.metrics.returned();
      new SocketOutlet(webSocket, socket, connection, after, this.log);
    });
    // The library has answered a faulty handshake.
    if (id === undefined && !connection.isAttached) connection.end();
  }
}

/** One WebSocket. */
class SocketOutlet implements Outlet {
  readonly #pings: NodeJS.Timeout;
  #sent = 0;
  #isAlive = true;
  #isFull = false;
  #isClosing = false;
  #isGathering = false;

  constructor(
    private readonly socket: WebSocket,
    private readonly carrier: Duplex,
    private readonly connection: ServedConnection,
    after: number | undefined,
    log: Log,
  ) {
    this.#pings = setInterval(() => this.#ping(), pingMs).unref();
    socket.on('pong', () => (this.#isAlive = true));
    socket.on('message', (data, isBinary) => this.#receive(data, isBinary));
    socket.on('error', ({ message }) => log.info({ connection: connection.id, message }, 'WebSocket failed'));
    socket.on('close', (code) => {
      clearInterval(this.#pings);
      connection.detach(this, finalCodes.includes(code));
    });
    connection.onRoom = () => socket.resume();
    connection.attach(this, after);
  }

  send(line: Buffer, number: number): boolean {
    this.#sent = number;
    this.#gather();
    this.socket.send(line, { binary: false }, () => {
      if (!this.#isFull || this.socket.bufferedAmount > maxBufferedBytes / 2) return;
      this.#isFull = false;
      this.connection.flush();
    });
    this.#isFull ||= this.socket.bufferedAmount > maxBufferedBytes;
    return !this.#isFull;
  }

  close(why: Closing, reason: string): void {
    this.#isClosing = true;
    this.socket.close(closeCodes[why], Buffer.from(reason).subarray(0, maxReasonBytes).toString());
  }

  /** What is sent in one turn goes out in one write. */
  #gather(): void {
    if (this.#isGathering) return;
    this.#isGathering = true;
    this.carrier.cork();
    queueMicrotask(() => {
      this.#isGathering = false;
      this.carrier.uncork();
    });
  }

  /** The text of the pong proves that as many messages have arrived. */
  #ping(): void {
    if (!this.#isAlive) {
      this.socket.terminate();
      return;
    }
    this.#isAlive = false;
    this.socket.ping(String(this.#sent));
  }

  #receive(data: RawData, isBinary: boolean): void {
    // What comes late was not counted when the client came back, so it sends it again. Source: as above, binary frames
    // are ignored.
    if (this.#isClosing || isBinary) return;
    if (!this.connection.receive(onOneLine(data as Buffer))) this.socket.pause();
  }
}
