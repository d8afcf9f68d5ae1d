/**
 * WebSockets: each text frame is one message. Source: ACP, "Streamable HTTP & WebSocket Transport". A client that has lost
 * its socket comes back with `Acp-Connection-Id` and, in `Cai-Received`, the number of messages that it has.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { WebSocket, WebSocketServer, type RawData } from 'ws';
import { overLimit } from '../../rpc/byte-budget';
import { onOneLine } from '../../rpc/white-space';
import type { Log } from '../../system/log';
import { closeCodes, connectionHeader, receivedHeader } from '../carried';
import { Pulse } from '../../system/streams/pulse';
import { type Closing, type Outlet, receivedCount } from './client-stream';
import type { ServedConnection } from './served-connection';
import type { Connections } from './connections';
import { bearerPrefix } from './door/request-rules';
import type { Visitor } from './door/visitor';
import { atMostFromClient } from './http/body';
import type { Metrics } from './metrics';

/** Bytes that wait in a socket, above which no more is sent. */
const maxBufferedBytes = 1024 * 1024;
/** How long a reason may be. Source: RFC 6455, section 5.5: 125 bytes with the code. */
const maxReasonBytes = 123;

/** Source: RFC 6455, section 7.4.1. */
const tooBig = 1009;
/** With these a client says that it needs the connection no more; 1005 stands for a close without a code. */
const finalCodes = [1000, 1005];

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
      WebSocket: withReasonForTooBig(maxFrameBytes),
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: maxFrameBytes,
      // A token is not sent back.
      handleProtocols: (offered) => [...offered].find((each) => !each.startsWith(bearerPrefix)) ?? false,
    });
    this.#server.on('headers', (headers, request) => headers.push(...(this.#headers.get(request) ?? [])));
  }

  /**
   * Takes an upgrade of somebody who was let in; `agent`: the one that they name. Throws `CaiError` for what cannot be
   * done, before anything is answered.
   */
  upgrade(
    request: IncomingMessage,
    socket: Socket,
    head: Buffer,
    visitor: Visitor,
    agent: string | undefined,
  ): void {
    const id = request.headers[connectionHeader] as string | undefined;
    const after = receivedCount(request.headers[receivedHeader]);
    const connection =
      id === undefined
        ? this.connections.open(visitor, agent, false)
        : this.connections.find(id, visitor, false);
    if (id !== undefined) connection.check(after);
    this.#headers.set(request, [
      `${connectionHeader}: ${connection.id}`,
      `${receivedHeader}: ${connection.received}`,
    ]);
    this.#server.handleUpgrade(request, socket, head, (webSocket) => {
      if (id !== undefined) this.metrics.returned();
      new SocketOutlet(webSocket, socket, connection, after, this.log);
    });
    // The library has answered a faulty handshake.
    if (id === undefined && !connection.isAttached) connection.end();
  }
}

class SocketOutlet implements Outlet {
  readonly #pulse: Pulse;
  #isFull = false;
  #isClosing = false;
  #isGathering = false;

  constructor(
    private readonly socket: WebSocket,
    private readonly carrier: Socket,
    private readonly connection: ServedConnection,
    after: number | undefined,
    log: Log,
  ) {
    this.#pulse = new Pulse({ ping: () => socket.ping(), carrier, onDead: () => socket.terminate() });
    socket.on('message', (data, isBinary) => this.#receive(data, isBinary));
    socket.on('error', ({ message }) => log.info({ connection: connection.id, message }, 'WebSocket failed'));
    socket.on('close', (code) => {
      this.#pulse.stop();
      connection.detach(this, finalCodes.includes(code));
    });
    connection.attach(this, after);
  }

  send(line: Buffer): boolean {
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

  #receive(data: RawData, isBinary: boolean): void {
    // What comes late was not counted when the client came back, so it sends it again. Source: as above, binary frames
    // are ignored.
    if (this.#isClosing || isBinary) return;
    if (this.connection.receive(onOneLine(data as Buffer))) return;
    this.#pulse.setPaused(true);
    this.socket.pause();
    this.connection.whenRoom(() => {
      this.#pulse.setPaused(false);
      this.socket.resume();
    });
  }
}

/** The library closes for a message that is too long with nothing but a number; `maxBytes`: what one may have. */
function withReasonForTooBig(maxBytes: number): typeof WebSocket {
  const excess = `a message has ${overLimit(0, maxBytes, atMostFromClient)}`;
  return class extends WebSocket {
    override close(code?: number, reason?: string | Buffer): void {
      super.close(code, code === tooBig ? (reason ?? excess) : reason);
    }
  };
}
