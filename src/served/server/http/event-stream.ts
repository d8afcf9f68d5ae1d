/** One stream of server-sent events: each is one message, and its id the number of it. Source: HTML, "Server-sent events". */
import type { ServerResponse } from 'node:http';
import { goneSoon } from '../last-words';
import type { Outlet } from '../client-stream';
import type { ServedConnection } from '../served-connection';

/** How often a stream with nothing to say is kept open by a comment, in milliseconds. */
const keepAliveMs = 15_000;

/** An answer of HTTP/1.1, or of HTTP/2, which has the same methods but one. */
export type Response = Omit<ServerResponse, 'flushHeaders'> & Partial<Pick<ServerResponse, 'flushHeaders'>>;

/** Carries one stream of a connection, for as long as the answer is open. */
export class EventStream implements Outlet {
  readonly #keepAlive: NodeJS.Timeout;

  /** `name`: as of `ServedConnection.attach`, `after` too. Throws as that does, before anything is answered. */
  constructor(
    private readonly response: Response,
    connection: ServedConnection,
    name: string,
    after: number | undefined,
  ) {
    connection.check(after, name);
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
    response.flushHeaders?.();
    this.#keepAlive = setInterval(() => this.#write(':\n\n'), keepAliveMs).unref();
    response.on('drain', () => connection.flush(name));
    response.on('close', () => {
      clearInterval(this.#keepAlive);
      connection.detach(this, false, name);
    });
    response.on('error', () => undefined);
    connection.attach(this, after, name);
  }

  send(line: Buffer, number: number): boolean {
    this.#write(`id: ${number}\ndata: `);
    this.#write(line);
    return this.#write('\n\n');
  }

  close(): void {
    this.response.end();
    goneSoon(this.response);
  }

  #write(chunk: string | Buffer): boolean {
    return this.response.write(chunk);
  }
}
