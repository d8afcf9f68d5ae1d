/** One WebSocket to a server, from the attempt to open it to its end. */
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { WebSocket, type ClientOptions } from 'ws';
import { placeOfUrl } from '../../config/host-rules';
import { tunnelTo } from '../../network';
import { printableLine } from '../../system/quoted';
import { connectionHeader, countIn, receivedHeader } from '../carried';
import { Pulse } from '../../system/streams/pulse';
import type { Access } from './access';
import type { Address } from './address';
import { connectToSocketOf, connectToUser } from './other-end';
import { endingOfClose, endingOfError, endingOfStatus, type Ending } from './endings';

/** How long a server may take to open a socket, and between two parts of its words about a refusal, in milliseconds. */
const openMs = 15_000;
const silenceMs = 1_000;
/** With more bytes than this on their way, no more are sent. */
const maxWaitingBytes = 1024 * 1024;
/** How much of a server's words about a refusal is read, and told, in characters. */
const maxBodyBytes = 4_096;
const maxSaid = 300;

/** What the server says when it opens a socket. */
export interface Greeting {
  /** Of the connection. */
  readonly id?: string;
  /** How many of our messages it has; absent: it cannot go on with a connection. */
  readonly received?: number;
  /** To be kept. */
  readonly cookies?: readonly string[];
}

/** What is opened, and who is told. */
export interface LinkOptions {
  /** Of the server. */
  readonly address: Address;
  /** What is shown to it. */
  readonly access: Access;
  /** Besides those of `access`. */
  readonly headers: Readonly<Record<string, string>>;
  /** It is to go on with a connection. */
  readonly isReturn: boolean;
  /** Of one message from the server. */
  readonly maxBytes: number;
  /** How many messages were sent on the connection. */
  readonly sentCount: () => number;
  /** The server has agreed. */
  readonly onOpen: (greeting: Greeting) => void;
  /** One message of the server, which may hold line ends. */
  readonly onLine: (line: Buffer) => void;
  /** The server has so many messages. */
  readonly onProven: (count: number) => void;
  /** More may be sent, after `isFull`. */
  readonly onRoom: () => void;
  /** Called once, the last of all. */
  readonly onEnd: (ending: Ending) => void;
}

/** One socket. It is opened at once. */
export class Link {
  readonly #webSocket: WebSocket;
  #pulse: Pulse | undefined;
  #error: Error | undefined;
  #hasEnded = false;
  #isPaused = false;

  /** Everything is told later, never from here. */
  constructor(private readonly options: LinkOptions) {
    const { address, access, headers, maxBytes } = options;
    const { socketPath } = address;
    const { onlyFor: uid, proxy } = access;
    const settings: ClientOptions = {
      ...access.tls,
      headers: { ...access.headers, ...headers },
      perMessageDeflate: false,
      handshakeTimeout: openMs,
      maxPayload: maxBytes,
      ...(socketPath !== undefined && { createConnection: () => connect(socketPath) }),
      ...(uid !== undefined && {
        createConnection: connectorFor(uid, socketPath),
      }),
      ...(proxy !== undefined && { createConnection: tunnelThrough(proxy, address) }),
    };
    const webSocket = new WebSocket(address.url, settings);
    this.#webSocket = webSocket;
    webSocket.on('upgrade', (response) => this.#greet(response));
    webSocket.on('unexpected-response', (_request, response) => this.#readRefusal(response));
    webSocket.on('message', (data, isBinary) => {
      if (!isBinary && !this.#hasEnded) options.onLine(data as Buffer);
    });
    webSocket.on('pong', (payload) => {
      if (!this.#hasEnded) options.onProven(Number(payload.toString('latin1')));
    });
    webSocket.on('error', (error) => (this.#error = error));
    webSocket.on('close', (code, said) => this.#closed(code, said.toString()));
  }

  /** No more may be sent until `onRoom` is called. */
  get isFull(): boolean {
    return this.#webSocket.readyState !== WebSocket.OPEN || this.#webSocket.bufferedAmount >= maxWaitingBytes;
  }

  /** Sends one message, which must be UTF-8. */
  send(line: Buffer): void {
    this.#webSocket.send(line, { binary: false }, (error) => {
      if (error == null && !this.#hasEnded && !this.isFull) this.options.onRoom();
    });
    this.#pulse?.sent(line.length);
  }

  /** Asks the server what it has. */
  ping(): void {
    this.#pulse?.ping();
  }

  /** Reads no more until it is told to. A little may still come. */
  setPaused(isPaused: boolean): void {
    if (isPaused === this.#isPaused) return;
    this.#isPaused = isPaused;
    this.#pulse?.setPaused(isPaused);
    if (isPaused) this.#webSocket.pause();
    else this.#webSocket.resume();
  }

  /** Ends the connection for good; `onEnd` tells when that is done. */
  close(): void {
    this.setPaused(false);
    this.#webSocket.close(1000);
  }

  /** What the server sends from now on comes too late. */
  drop(): void {
    this.#end({ kind: 'again', reason: 'dropped' });
    this.#webSocket.terminate();
  }

  #greet(response: IncomingMessage): void {
    const { headers, socket } = response;
    const id = headers[connectionHeader];
    const received = countIn(headers[receivedHeader]);
    const greeting: Greeting = {
      ...(typeof id === 'string' && { id }),
      ...(received !== undefined && { received }),
      ...(headers['set-cookie'] !== undefined && { cookies: headers['set-cookie'] }),
    };
    this.#webSocket.once('open', () => {
      if (this.#hasEnded) return;
      this.#pulse = new Pulse({
        ping: () => this.#webSocket.ping(String(this.options.sentCount())),
        carrier: socket,
        onDead: () => {
          this.#end({ kind: 'again', reason: 'the server has given no sign of life' });
          this.#webSocket.terminate();
        },
      });
      this.options.onOpen(greeting);
    });
  }

  #readRefusal(response: IncomingMessage): void {
    const status = response.statusCode ?? 0;
    let body = '';
    const finish = (): void => {
      const said = wordsOf(body);
      this.#end(endingOfStatus(status, said, this.options.isReturn));
      this.#webSocket.terminate();
    };
    response.setEncoding('utf8').on('data', (text: string) => {
      body += text;
      if (body.length > maxBodyBytes) finish();
    });
    response.on('close', finish);
    response.on('error', finish);
    // Who refuses and then falls silent has refused all the same.
    response.setTimeout(silenceMs, finish);
  }

  #closed(code: number, said: string): void {
    const text = wordsOf(said);
    const hasOpened = this.#pulse !== undefined;
    this.#end(
      !hasOpened && this.#error !== undefined
        ? endingOfError(this.#error, this.options.address.isStandard === true)
        : endingOfClose(code, text, this.#error),
    );
  }

  #end(ending: Ending): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#pulse?.stop();
    this.options.onEnd(ending);
  }
}

type CreateConnection = NonNullable<ClientOptions['createConnection']>;

/** Through a proxy of the user, in TLS where the address says so. */
function tunnelThrough(proxy: URL, { url, isEncrypted }: Address): CreateConnection {
  const place = placeOfUrl(url.replace(/^ws/, 'http'))!;
  const connector = (to: ConnectionOptions, done: (error: Error | null, socket?: Socket) => void): void => {
    tunnelTo(place, proxy, AbortSignal.timeout(openMs)).then(
      (tunnel) => done(null, isEncrypted ? connectTls({ ...to, path: undefined, ...tunnel }) : tunnel.socket),
      done,
    );
  };
  return connector as unknown as CreateConnection;
}

/** Node takes the socket later, too, which the types do not say. */
function connectorFor(uid: number, socketPath: string | undefined): CreateConnection {
  type Connect = (
    to: Parameters<typeof connectToUser>[0],
    done: Parameters<typeof connectToSocketOf>[2],
  ) => void;
  const connector: Connect = (to, done) => {
    if (socketPath === undefined) connectToUser(to, { uid, limitMs: openMs }, done);
    else connectToSocketOf(uid, socketPath, done);
  };
  return connector as unknown as CreateConnection;
}

/** A server's words, as the beginning of a longer line for people. */
function wordsOf(text: string): string {
  return printableLine(text).slice(0, maxSaid).replace(/\.$/, '');
}
