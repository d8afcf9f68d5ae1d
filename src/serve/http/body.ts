/** The body of a request. */
import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import { HttpError } from './http-error';

/** A request of either HTTP. */
export type Request = IncomingMessage | Http2ServerRequest;

/** All of it; rejects with `HttpError` if it is longer than `maxBytes`, of which no more is read. */
export async function readBody(request: Request, maxBytes: number): Promise<Buffer> {
  const tooLong = () => new HttpError(413, `a body has at most ${maxBytes} bytes`);
  if (Number(request.headers['content-length']) > maxBytes) throw tooLong();
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBytes) throw tooLong();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
