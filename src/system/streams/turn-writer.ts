/** Writes of one turn of the event loop, put together, because a write costs more than what it writes. */
import type { Writable } from 'node:stream';

/** Writes all pieces, at least one, in one go; `onTaken` is called when the stream has taken them, or has failed. */
export function writeAtOnce(stream: Writable, pieces: readonly Buffer[], onTaken?: () => void): void {
  const joined = joinedNeighbours(pieces);
  const last = joined.length - 1;
  // A single piece is written faster without corking.
  if (last > 0) stream.cork();
  for (let i = 0; i < last; i++) stream.write(joined[i]!);
  stream.write(joined[last]!, onTaken);
  if (last > 0) stream.uncork();
}

/** Makes one piece of pieces that lie side by side in memory, as `splice` copies them; nothing is copied. */
function joinedNeighbours(pieces: readonly Buffer[]): readonly Buffer[] {
  if (pieces.length === 1) return pieces;
  const joined: Buffer[] = [];
  for (let i = 0; i < pieces.length;) {
    const first = pieces[i++]!;
    let end = first.byteOffset + first.length;
    for (; pieces[i]?.buffer === first.buffer && pieces[i]!.byteOffset === end; i++) end += pieces[i]!.length;
    const length = end - first.byteOffset;
    joined.push(length === first.length ? first : Buffer.from(first.buffer, first.byteOffset, length));
  }
  return joined;
}

/** Writes to a stream what was added in one turn of the event loop. */
export class TurnWriter {
  #pieces: Buffer[] = [];
  #bytes = 0;

  constructor(private readonly stream: Writable) {}

  /** Bytes that the system has not taken yet. */
  get waitingBytes(): number {
    return this.#bytes + this.stream.writableLength;
  }

  add(line: Buffer | readonly Buffer[]): void {
    if (this.#pieces.length === 0) queueMicrotask(() => this.flush());
    for (const piece of Buffer.isBuffer(line) ? [line] : line) {
      this.#pieces.push(piece);
      this.#bytes += piece.length;
    }
  }

  /** Writes now what was added; nothing where the stream takes no more. */
  flush(): void {
    const pieces = this.#pieces;
    this.#pieces = [];
    this.#bytes = 0;
    if (pieces.length > 0 && this.stream.writable) writeAtOnce(this.stream, pieces);
  }
}
