/** How SSH writes values into bytes, and how the messages of an agent are cut out of a stream. Source: RFC 4251, 5. */

/** Longest message of an agent, in bytes, as OpenSSH has it. */
export const maxMessageBytes = 256 * 1024;

/** What was read makes no sense. */
export class Malformed extends Error {}

/** Reads values one after the other; each fails with `Malformed` where the bytes end before. */
export class WireReader {
  #at = 0;

  /** Nothing is copied: what is read is part of `bytes`. */
  constructor(private readonly bytes: Buffer) {}

  byte(): number {
    return this.#take(1)[0]!;
  }

  /** A number of four bytes. */
  uint32(): number {
    return this.#take(4).readUInt32BE();
  }

  /** Bytes with their length before them. */
  string(): Buffer {
    return this.#take(this.uint32());
  }

  /** The same, as text: bytes beyond ASCII make another text than any that is expected. */
  text(): string {
    return this.string().toString('latin1');
  }

  /** A number that is not negative, without zeros before it. */
  mpint(): Buffer {
    const bytes = this.string();
    if (((bytes[0] ?? 0) & 0x80) !== 0) throw new Malformed('a negative number');
    return bytes.subarray(bytes.findIndex((byte) => byte !== 0) >>> 0);
  }

  end(): void {
    if (this.#at !== this.bytes.length) throw new Malformed('more than was expected');
  }

  #take(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.bytes.length) throw new Malformed('less than was expected');
    const taken = this.bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }
}

/** A number of four bytes. */
export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** Bytes or text with their length before them; a message of an agent is one, too. */
export function wireString(value: Buffer | string): Buffer {
  const bytes = Buffer.from(value as string, 'latin1');
  return Buffer.concat([uint32(bytes.length), bytes]);
}

/**
 * The messages of an agent's stream, without their lengths. What comes after one is not read before the next is asked for.
 * Fails with `Malformed` for an empty message and one that is too long, which is not read; ends with the stream.
 */
export async function* messagesOf(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  let chunks: Buffer[] = [];
  let kept = 0;
  for await (const chunk of stream) {
    chunks.push(chunk);
    kept += chunk.length;
    // What comes in single bytes is joined once.
    while (kept >= 4) {
      if (chunks[0]!.length < 4) chunks = [Buffer.concat(chunks)];
      const length = chunks[0]!.readUInt32BE();
      if (length === 0 || length > maxMessageBytes)
        throw new Malformed(`a message of ${length} bytes, where 1 to ${maxMessageBytes} are possible`);
      if (kept < 4 + length) break;
      const all = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
      const rest = all.subarray(4 + length);
      chunks = rest.length === 0 ? [] : [rest];
      kept = rest.length;
      yield all.subarray(4, 4 + length);
    }
  }
}
