/**
 * Bytes to lines. Source: ACP v1, transports: messages are UTF-8 JSON, one a line, ended by LF; a CR
 * before it is taken off, blank lines mean nothing.
 */
import { carriageReturn, newline } from './json/bytes';
import { LinePieces } from './line-pieces';
import { Skim, type OverlongLine } from './long-line';
import { isBlank, withoutReturns } from './white-space';

/** A line is not offered to `take` if more of its beginning is held than this, in bytes. */
const maxOfferedBytes = 32 * 1024;

/** Limits of a reader, in bytes. */
export interface LineLimits {
  /** Longest line that is kept, without its LF; a CR before that counts. */
  readonly maxLineBytes: number;
  /** How much of a longer line is read for its envelope before it is reported, which is at its end at the latest. */
  readonly maxSearchBytes: number;
}

/**
 * Cuts what is pushed into lines, which are pulled one at a time in order. A line that lies in one chunk
 * is a slice of it; one that spans chunks is joined once, when its end is there. Pulling is what allows
 * a reader to be stopped between two lines of one chunk.
 */
export class LineReader {
  /** Chunks not yet cut; the first from `#offset` on. */
  readonly #chunks: Buffer[] = [];
  #offset = 0;
  /** Bytes that were pushed and not cut yet, without the beginning of a line that is held. */
  waitingBytes = 0;
  /** The beginning of a line whose end has not come. */
  readonly #held = new LinePieces();
  /** Set while the rest of an over-long line is thrown away; `isReported` once it was returned. */
  #overlong: { skim: Skim; isReported: boolean } | undefined;
  #hasEnded = false;
  /** A CR was pushed: few agents ever write one. */
  #hasReturns = false;

  /** `limits` hold for every line. */
  constructor(private readonly limits: LineLimits) {}

  /** Adds bytes. They must not be changed afterwards. */
  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.waitingBytes += chunk.length;
    this.#hasReturns ||= chunk.includes(carriageReturn);
  }

  /** No more bytes will come: a last line without a line end counts. */
  end(): void {
    this.#hasEnded = true;
  }

  /**
   * Offers the bytes that come next, from the start of a line, to `take`, which may consume several whole lines and
   * returns how many bytes these are, with their line ends. Returns that number, or 0 if there is nothing to offer.
   */
  offer(take: (pieces: readonly Buffer[]) => number): number {
    const chunk = this.#chunks[0];
    if (chunk === undefined || this.#overlong !== undefined || this.#held.bytes > maxOfferedBytes) return 0;
    const rest = this.#offset === 0 ? chunk : chunk.subarray(this.#offset);
    const isOverLimit = this.#held.bytes + rest.length > this.limits.maxLineBytes;
    if (isOverLimit || !rest.includes(newline)) return 0;
    const taken = take(this.#held.bytes === 0 ? [rest] : [...this.#held.all, rest]);
    if (taken === 0) return 0;
    this.#goOnAt(this.#offset + taken - this.#held.bytes);
    this.#held.take();
    return taken;
  }

  /** The next line without its line end, or undefined until more is pushed. */
  next(): Buffer | OverlongLine | undefined {
    for (;;) {
      const chunk = this.#chunks[0];
      if (chunk === undefined) {
        const isCut = this.#held.bytes > 0 || this.#overlong !== undefined;
        return this.#hasEnded && isCut ? this.#finish(Buffer.alloc(0)) : undefined;
      }
      const end = chunk.indexOf(newline, this.#offset);
      const piece = chunk.subarray(this.#offset, end < 0 ? chunk.length : end);
      this.#goOnAt(end < 0 ? chunk.length : end + 1);
      const line = end < 0 ? this.#hold(piece) : this.#finish(piece);
      if (line !== undefined) return line;
    }
  }

  /** Goes on at that offset of the first chunk, or with the next chunk if this one is over. */
  #goOnAt(offset: number): void {
    this.waitingBytes -= offset - this.#offset;
    const isChunkOver = offset === this.#chunks[0]!.length;
    if (isChunkOver) this.#chunks.shift();
    this.#offset = isChunkOver ? 0 : offset;
  }

  /** The line goes on in the next chunk. */
  #hold(piece: Buffer): OverlongLine | undefined {
    if (this.#overlong === undefined) {
      this.#held.add(piece);
      if (this.#held.bytes <= this.limits.maxLineBytes) return undefined;
      this.#overlong = { skim: new Skim(), isReported: false };
      for (const held of this.#held.take()) this.#skim(held);
    } else {
      this.#skim(piece);
    }
    const { skim } = this.#overlong;
    return skim.length >= this.limits.maxSearchBytes ? this.#report() : undefined;
  }

  /** The line ends with `piece`. */
  #finish(piece: Buffer): Buffer | OverlongLine | undefined {
    if (this.#overlong !== undefined || this.#held.bytes + piece.length > this.limits.maxLineBytes) {
      const report = this.#hold(piece) ?? this.#report();
      this.#overlong = undefined;
      return report;
    }
    const line = this.#held.bytes === 0 ? piece : Buffer.concat([...this.#held.take(), piece]);
    if (!this.#hasReturns) return isBlank(line) ? undefined : line;
    const text = line.at(-1) === carriageReturn ? line.subarray(0, -1) : line;
    return isBlank(text) ? undefined : withoutReturns(text);
  }

  #skim(piece: Buffer): void {
    const { skim, isReported } = this.#overlong!;
    const room = this.limits.maxSearchBytes - skim.length;
    if (isReported || room <= 0) return;
    if (skim.isKnown) skim.length += Math.min(piece.length, room);
    else skim.push(piece.subarray(0, room));
  }

  #report(): OverlongLine | undefined {
    if (this.#overlong === undefined || this.#overlong.isReported) return undefined;
    this.#overlong.isReported = true;
    return { skim: this.#overlong.skim, limitBytes: this.limits.maxLineBytes };
  }
}
