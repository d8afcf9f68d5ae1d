/** As `Link`, by a WebSocket. */
import type { IncomingMessage } from 'node:http';
import { WebSocket, type ClientOptions } from 'ws';
import { overLimit } from '../../../rpc/byte-budget';
import { connectionHeader, countIn, receivedHeader } from '../../carried';
import { Pulse } from '../../../system/streams/pulse';
import { openMs, specialWay } from './dial';
import { endingOfClose, endingOfError, endingOfStatus, type Ending } from './endings';
import { maxWaitingBytes, wordsOf, type Greeting, type Link, type LinkOptions } from './link';

/** How long a server may take for its words about a refusal, in milliseconds. */
const refusalMs = 3_000;
/** How much of a server's words about a refusal is read, in characters. */
const maxRefusalLength = 4_096;

type CreateConnection = NonNullable<ClientOptions['createConnection']>;

export class WebSocketLink implements Link {
  readonly #webSocket: WebSocket;
  #pulse: Pulse | undefined;
  #error: Error | undefined;
  #hasEnded = false;
  #isPaused = false;

  /** Everything is told later, never from here. */
  constructor(private readonly options: LinkOptions) {
    const { address, access, headers, maxBytes } = options;
    const way = specialWay(address, access);
    const settings: ClientOptions = {
      ...access.tls,
      headers: { ...access.headers, ...headers },
      perMessageDeflate: false,
      handshakeTimeout: openMs,
      maxPayload: maxBytes,
      // Node takes the socket later, too, which the types do not say.
      ...(way !== undefined && { createConnection: way as unknown as CreateConnection }),
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
    webSocket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH')
        error.message = `a message that has ${overLimit(0, maxBytes, 'acp.max_line_to_editor')}`;
      this.#error = error;
    });
    webSocket.on('close', (code, said) => this.#closed(code, said.toString()));
  }

  get isFull(): boolean {
    return this.#webSocket.readyState !== WebSocket.OPEN || this.#webSocket.bufferedAmount >= maxWaitingBytes;
  }

  send(line: Buffer): void {
    this.#webSocket.send(line, { binary: false }, (error) => {
      if (error == null && !this.#hasEnded && !this.isFull) this.options.onRoom();
    });
    this.#pulse?.sent(line.length);
  }

  ping(): void {
    this.#pulse?.ping();
  }

  setPaused(isPaused: boolean): void {
    if (isPaused === this.#isPaused) return;
    this.#isPaused = isPaused;
    this.#pulse?.setPaused(isPaused);
    if (isPaused) this.#webSocket.pause();
    else this.#webSocket.resume();
  }

  close(): void {
    this.setPaused(false);
    this.#webSocket.close(1000);
  }

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
      clearTimeout(timer);
      const said = wordsOf(body);
      this.#end(endingOfStatus(status, said, this.options.isReturn));
      this.#webSocket.terminate();
    };
    response.setEncoding('utf8').on('data', (text: string) => {
      body += text;
      if (body.length > maxRefusalLength) finish();
    });
    response.on('close', finish);
    response.on('error', finish);
    // Who refuses, and then falls silent or says more and more, has refused all the same.
    const timer = setTimeout(finish, refusalMs);
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
