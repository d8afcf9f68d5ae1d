/** The bodies of requests. */
import type { JsonObject } from '../../../rpc/json';
import type { Request } from '../door/request-rules';
import type { Visitor } from '../door/visitor';
import { HttpError } from './http-error';
import { objectIn } from '../../../system/unless';

/** Bodies of the greatest length that one visitor may have on the way at a time. */
const maxAtATime = 2;

/** Whether a request says that its body is JSON. */
export function isJson({ headers }: Request): boolean {
  return headers['content-type']?.split(';', 1)[0]!.trim().toLowerCase() === 'application/json';
}

/** Reads bodies, of each visitor only so much at a time: nobody can take all memory by sending many slowly. */
export class Bodies {
  /** Bytes that have come of bodies that are not whole, by the names of visitors. */
  readonly #coming = new Map<string, number>();

  /** `maxBytes`: of one body. */
  constructor(private readonly maxBytes: number) {}

  /** All of it; rejects with `HttpError` if it is longer than it may be, of which no more is read. */
  async read(request: Request, { name }: Visitor): Promise<Buffer> {
    const tooLong = () => new HttpError(413, `a body has at most ${this.maxBytes} bytes`);
    if (Number(request.headers['content-length']) > this.maxBytes) throw tooLong();
    const chunks: Buffer[] = [];
    let length = 0;
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) {
        length += chunk.length;
        const coming = this.#count(name, chunk.length);
        if (length > this.maxBytes) throw tooLong();
        if (coming > maxAtATime * this.maxBytes)
          throw new HttpError(503, 'you send too much at a time: wait for an answer');
        chunks.push(chunk);
      }
    } finally {
      this.#count(name, -length);
    }
    return Buffer.concat(chunks);
  }

  /** As `read`, an object of JSON; rejects with `HttpError` for anything else, too. */
  async readObject(request: Request, visitor: Visitor): Promise<JsonObject> {
    const body = objectIn((await this.read(request, visitor)).toString());
    if (body === undefined) throw new HttpError(400, 'the body is no JSON object');
    return body;
  }

  #count(name: string, bytes: number): number {
    const all = (this.#coming.get(name) ?? 0) + bytes;
    if (all === 0) this.#coming.delete(name);
    else this.#coming.set(name, all);
    return all;
  }
}
