/** The bodies of requests. */
import { messageOf } from '../../../errors';
import { overLimit } from '../../../rpc/byte-budget';
import type { JsonObject } from '../../../rpc/json';
import type { Request } from '../door/request-rules';
import type { Visitor } from '../door/visitor';
import { HttpError } from './http-error';
import { objectIn } from '../../../system/unless';

/** Bodies of the greatest length that one visitor may have on the way at a time. */
const maxAtATime = 2;

/** The limit of a message of a client, as the configuration has it: the process refuses shorter ones under their ids. */
export const atMostFromClient = '2 x acp.max_line_from_editor';

/** Whether a request says that its body is JSON. */
export function isJson({ headers }: Request): boolean {
  return headers['content-type']?.split(';', 1)[0]!.trim().toLowerCase() === 'application/json';
}

/** Reads bodies, of each visitor only so much at a time: nobody can take all memory by sending many slowly. */
export class Bodies {
  /** Bytes that have come of bodies that are not whole, by the names of visitors. */
  readonly #coming = new Map<string, number>();

  /** `maxBytes`: of one body; `setting`: the key of the configuration for that, if it has one. */
  constructor(
    private readonly maxBytes: number,
    private readonly setting?: string,
  ) {}

  /** All of it; rejects with `HttpError` if it is cut off, or longer than it may be, of which no more is read. */
  async read(request: Request, { name }: Visitor): Promise<Buffer> {
    const { maxBytes, setting } = this;
    const check = (bytes: number): void => {
      if (bytes > maxBytes) throw new HttpError(413, `the body has ${overLimit(bytes, maxBytes, setting)}`);
    };
    check(Number(request.headers['content-length']));
    const chunks: Buffer[] = [];
    let length = 0;
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) {
        length += chunk.length;
        const coming = this.#count(name, chunk.length);
        check(length);
        if (coming > maxAtATime * maxBytes) {
          const excess = overLimit(coming, maxAtATime * maxBytes, setting);
          throw new HttpError(503, `you send too much at a time, ${excess}: wait for an answer`);
        }
        chunks.push(chunk);
      }
    } catch (reason) {
      if (reason instanceof HttpError) throw reason;
      throw new HttpError(400, `the body was cut off: ${messageOf(reason)}: send the request again`);
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
