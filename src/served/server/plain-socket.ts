/**
 * Sockets that carry lines as stdin and stdout do: one message a line. There is nothing by which such a client could come
 * back: its connection ends with the socket.
 */
import type { Socket } from 'node:net';
import { errorLine } from '../../rpc/answer';
import { LineReader } from '../../rpc/line';
import { tooLong } from '../../rpc/long-line';
import { rpcCode } from '../../errors';
import { endWith } from './last-words';
import type { Outlet } from './client-stream';
import { atMostFromClient } from './http/body';
import type { ServedConnection } from './served-connection';

/** Longest first line of a client that has to say who it is, in bytes. */
const maxGreetingBytes = 1_024;
const lineEnd = Buffer.from('\n');

/**
 * Resolves with the first line of a client; what else has come stays in the socket. `undefined`: it sent none in time, or
 * too much.
 */
export async function firstLine(socket: Socket, limitMs: number): Promise<string | undefined> {
  return await new Promise((resolve) => {
    let received = Buffer.alloc(0);
    const done = (line: string | undefined, rest?: Buffer): void => {
      clearTimeout(timer);
      socket.off('data', onData).off('close', onClose);
      socket.pause();
      if (rest !== undefined && rest.length > 0) socket.unshift(rest);
      resolve(line);
    };
    const onClose = (): void => done(undefined);
    const onData = (chunk: Buffer): void => {
      received = Buffer.concat([received, chunk]);
      const end = received.indexOf('\n');
      if (end >= 0 && end <= maxGreetingBytes)
        done(received.toString('latin1', 0, end), received.subarray(end + 1));
      else if (end >= 0 || received.length > maxGreetingBytes) done(undefined);
    };
    const timer = setTimeout(() => done(undefined), limitMs);
    socket.on('data', onData).once('close', onClose);
  });
}

/** Carries a connection for as long as the socket lives. */
export class PlainSocket implements Outlet {
  readonly #reader: LineReader;
  #mayRead = true;
  #isInputOver = false;
  #isOver = false;

  /** `maxLineBytes`: of the client's lines. */
  constructor(
    private readonly socket: Socket,
    private readonly connection: ServedConnection,
    maxLineBytes: number,
  ) {
    this.#reader = new LineReader({ maxLineBytes, maxSearchBytes: 0 });
    socket.on('data', (chunk: Buffer) => {
      if (this.#isOver) return;
      this.#reader.push(chunk);
      this.#pull();
    });
    socket.on('end', () => {
      this.#reader.end();
      this.#isInputOver = true;
      this.#pull();
    });
    socket.on('drain', () => connection.flush());
    socket.on('error', () => socket.destroy());
    socket.on('close', () => connection.detach(this, true));
    connection.attach(this);
    socket.resume();
  }

  send(line: Buffer): boolean {
    this.socket.cork();
    this.socket.write(line);
    const takesMore = this.socket.write(lineEnd);
    this.socket.uncork();
    return takesMore;
  }

  close(): void {
    this.#end('');
  }

  /** Nothing that comes from now on counts. */
  #end(text: string | Buffer): void {
    this.#isOver = true;
    endWith(this.socket, text);
  }

  #pull(): void {
    while (this.#mayRead && !this.#isOver) {
      const line = this.#reader.next();
      if (line === undefined) break;
      if (!Buffer.isBuffer(line)) {
        const message = `the line ${tooLong(line, atMostFromClient)}`;
        this.#end(errorLine('null', { code: rpcCode.invalidRequest, message }));
        this.connection.detach(this, true);
        return;
      }
      this.#mayRead = this.connection.receive(line);
      if (this.#mayRead) continue;
      this.connection.whenRoom(() => {
        this.#mayRead = true;
        this.#pull();
      });
    }
    if (this.#mayRead && this.#isInputOver && !this.#isOver) {
      this.#isInputOver = false;
      this.connection.inputIsOver();
    }
    if (this.#mayRead || this.#isOver) this.socket.resume();
    else this.socket.pause();
  }
}
