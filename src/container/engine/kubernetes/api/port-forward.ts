/**
 * Connections to a port of a pod, each over its own WebSocket. Source: Kubernetes,
 * kubelet/pkg/cri/streaming/portforward/websocket.go, the same from 1.6 on: of each message, the first byte is its channel.
 */
import { Duplex } from 'node:stream';
import { WebSocket } from 'ws';
import { Pulse } from '../../../../system/streams/pulse';
import { ApiRefusal, ForwardFailure, NodeSilent, type PodPort } from './api-error';
import type { Requests } from './requests';

const dataChannel = 0;
const errorChannel = 1;
/** Of each channel, the first two bytes are the port. */
const portBytes = 2;

/** How long it may take to open a connection, in milliseconds. */
const openMs = 15_000;
/** Of one message to the pod, as 32 MB are too many. Source: golang.org/x/net/websocket, `DefaultMaxPayloadBytes`. */
const maxSentBytes = 256 * 1024;
/** Of one message from the pod, of which 32 KB are usual. */
const maxReceivedBytes = 16 * 1024 * 1024;
/** After we have said all, the pod is listened to until it has said nothing for so long, in milliseconds. */
const quietMs = 2_000;
/** How long the other end may take to close, in milliseconds. */
const closeMs = 5_000;

/** Resolves when the node has taken the request; it connects then. Rejects as `Requests.whole` does. */
export async function openForward(requests: Requests, to: PodPort, limitMs = openMs): Promise<Duplex> {
  const asked = { pod: to.pod, part: `portforward?ports=${to.port}`, maxPayload: maxReceivedBytes };
  return await requests.authorized((credentials) =>
    opened((onRefusal) => requests.socket(asked, credentials, onRefusal), to, limitMs),
  );
}

function opened(
  open: (onRefusal: (reason: Error) => void) => WebSocket,
  to: PodPort,
  limitMs: number,
): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const fail = (reason: Error): void => {
      clearTimeout(timer);
      reject(reason);
      forward.destroy();
    };
    const webSocket = open((reason) => {
      // A node whose runtime is away answers for itself.
      const isOfNode = reason instanceof ApiRefusal && reason.status >= 500 && !reason.isStatus;
      fail(isOfNode ? new ForwardFailure(to, reason.message) : reason);
    });
    const forward = new Forward(webSocket, to, () => {
      clearTimeout(timer);
      // What has come along with the port, as that nobody listens there, is told before.
      setImmediate(() => {
        forward.off('error', fail);
        resolve(forward);
      });
    });
    const timer = setTimeout(() => fail(new NodeSilent(limitMs / 1_000)), limitMs);
    forward.on('error', fail);
  });
}

/** What is written goes to the pod; what it says can be read. */
class Forward extends Duplex {
  /** How much of the port is still to come, of each channel. */
  readonly #missing = [portBytes, portBytes];
  #pulse: Pulse | undefined;
  #quiet: NodeJS.Timeout | undefined;
  #hasSaidAll = false;
  /** The pod's end has closed the connection. */
  #isOver = false;
  #isClosing = false;

  /** `onOpen`: the node has told the port on both channels. */
  constructor(
    private readonly webSocket: WebSocket,
    private readonly to: PodPort,
    private readonly onOpen: () => void,
  ) {
    super({ allowHalfOpen: false });
    webSocket.on('upgrade', ({ socket }) => {
      webSocket.once('open', () => {
        this.#pulse = new Pulse({
          ping: () => webSocket.ping(),
          carrier: socket,
          onDead: () => this.#fail('there was no sign of life'),
        });
      });
    });
    webSocket.on('message', (message) => this.#take(message as Buffer));
    webSocket.on('error', (reason) => this.destroy(reason));
    webSocket.on('close', (code) => this.#closed(code));
  }

  override _read(): void {
    this.#pause(false);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#send([chunk], done);
  }

  override _writev(
    chunks: readonly { readonly chunk: Buffer }[],
    done: (error?: Error | null) => void,
  ): void {
    this.#send(
      chunks.map(({ chunk }) => chunk),
      done,
    );
  }

  /** The protocol cannot say that only one direction has ended: whoever closes gets no more. */
  override _final(done: () => void): void {
    this.#hasSaidAll = true;
    if (!this.#isOver) this.#listen();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#quiet);
    this.#pulse?.stop();
    // It tells of an attempt that was ended, which somebody has wanted.
    this.webSocket.on('error', () => undefined);
    this.webSocket.terminate();
    done(error);
  }

  #send(chunks: readonly Buffer[], done: () => void): void {
    // The end of the connection is told when all that the pod has said before is read; this is not another failure.
    if (this.webSocket.readyState !== WebSocket.OPEN) {
      done();
      return;
    }
    const all = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
    for (let at = 0; at < all.length; at += maxSentBytes) {
      const piece = all.subarray(at, at + maxSentBytes);
      const message = Buffer.allocUnsafe(piece.length + 1);
      message[0] = dataChannel;
      piece.copy(message, 1);
      const isLast = at + maxSentBytes >= all.length;
      this.webSocket.send(message, isLast ? () => done() : undefined);
      this.#pulse?.sent(message.length);
    }
    if (all.length === 0) done();
  }

  #take(message: Buffer): void {
    const channel = message[0];
    if (channel !== dataChannel && channel !== errorChannel) return;
    const missing = Math.min(this.#missing[channel]!, message.length - 1);
    const rest = message.subarray(1 + missing);
    if (missing > 0) {
      this.#missing[channel]! -= missing;
      if (this.#missing.every((count) => count === 0)) this.onOpen();
    }
    if (rest.length === 0) return;
    if (channel === errorChannel) {
      this.#fail(rest.toString());
      return;
    }
    if (this.#hasSaidAll && !this.#isClosing) this.#listen();
    if (!this.push(rest)) this.#pause(true);
  }

  #pause(isPaused: boolean): void {
    if (this.webSocket.isPaused === isPaused) return;
    this.#pulse?.setPaused(isPaused);
    if (isPaused) this.webSocket.pause();
    else this.webSocket.resume();
  }

  /** Closes when the pod has said nothing for a while; what is not read yet does not count as nothing. */
  #listen(): void {
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => {
      if (this.webSocket.isPaused) this.#listen();
      else this.#close();
    }, quietMs);
  }

  #close(): void {
    this.#isClosing = true;
    this.webSocket.close(1000);
    this.#quiet = setTimeout(() => this.webSocket.terminate(), closeMs);
  }

  /** The node closes with 1000 once the program in the pod has; a connection that breaks off closes with 1006. */
  #closed(code: number): void {
    this.#pulse?.stop();
    if (this.#missing.some((count) => count > 0)) {
      this.#fail('the node has closed it at once');
      return;
    }
    if (code !== 1000 && code !== 1005 && !this.#isClosing) {
      this.#fail(`the connection broke off (${code})`);
      return;
    }
    this.#isOver = true;
    clearTimeout(this.#quiet);
    this.push(null);
  }

  #fail(said: string): void {
    this.destroy(new ForwardFailure(this.to, said));
  }
}
