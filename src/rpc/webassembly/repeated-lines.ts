/**
 * Rewrites runs of lines that differ in one string only, as an agent writes them while it speaks, all at once. Line by
 * line it would take ten times as long.
 */
import { isUtf8 } from 'node:buffer';
import { copyLines } from '../splice';
import {
  headAt,
  inputAt,
  maxInputBytes,
  maxPartBytes,
  minHeadBytes,
  newHeadAt,
  outputAt,
  tailAt,
  vectors,
} from './vectors';
import type { Field } from '../json/wanted-places';

export interface Pattern {
  /** What they begin with, up to the string that differs, its quote included. */
  readonly head: Buffer;
  /** What they end with, from that string's other quote on, without the line end. */
  readonly tail: Buffer;
  /** Their fields, all of them in the head. */
  readonly fields: readonly Field[];
}

export interface Run {
  readonly bytes: number;
  /** The lines as they are to go on, with their line ends. */
  readonly lines: Buffer;
}

/** How much is read at first, in bytes: the run may be short. */
const firstWindowBytes = 2 * 1024;
const maxSkipLines = 64;

/** The new head whose pattern is in the memory of the vectors. */
let placed: Buffer | undefined;

export class RunRewriter {
  #windowBytes = firstWindowBytes;
  /** After a line that does not fit, so many lines go the usual way before the next try; twice as many each time. */
  #skipLines = 0;
  #lastSkip = 0;
  readonly #isPossible: boolean;

  /** `newHead` is to stand in place of the pattern's head. */
  constructor(
    private readonly pattern: Pattern,
    private readonly newHead: Buffer,
  ) {
    const { head, tail } = pattern;
    const isShort = [head, newHead, tail].every(({ length }) => length <= maxPartBytes);
    this.#isPossible = isShort && head.length >= minHeadBytes;
  }

  /**
   * Rewrites whole lines from the beginning of the pieces; undefined if the first line does not have the pattern or
   * cannot be rewritten here. Each line that is rewritten is valid JSON in UTF-8, as the line of the pattern was.
   */
  take(pieces: readonly Buffer[]): Run | undefined {
    if (!this.#isPossible || !this.#mayBegin(pieces[0]!)) return undefined;
    if (this.#skipLines > 0) {
      this.#skipLines--;
      return undefined;
    }
    const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
    for (;;) {
      const windowBytes = Math.min(bytes, this.#windowBytes);
      const run = this.#rewrite(pieces, windowBytes);
      // The line, or the run, may go on after the window.
      const isLonger =
        run === undefined ? windowBytes < Math.min(bytes, maxInputBytes) : run.bytes > windowBytes / 2;
      this.#windowBytes = isLonger ? Math.min(8 * this.#windowBytes, maxInputBytes) : firstWindowBytes;
      if (run === undefined && isLonger) continue;
      this.#lastSkip = run === undefined ? Math.min(2 * this.#lastSkip + 1, maxSkipLines) : 0;
      this.#skipLines = this.#lastSkip;
      return run;
    }
  }

  #mayBegin(piece: Buffer): boolean {
    const { head } = this.pattern;
    return piece.length < head.length || head.compare(piece, 0, head.length) === 0;
  }

  #rewrite(pieces: readonly Buffer[], bytes: number): Run | undefined {
    const fast = vectors();
    if (fast === null) return undefined;
    const { head, tail } = this.pattern;
    const { memory } = fast;
    if (placed !== this.newHead) {
      head.copy(memory, headAt);
      this.newHead.copy(memory, newHeadAt);
      tail.copy(memory, tailAt);
      placed = this.newHead;
    }
    let copied = 0;
    for (const piece of pieces) copied += piece.copy(memory, inputAt + copied, 0, bytes - copied);
    memory[inputAt + bytes] = 0;
    const taken = fast.rewrite(bytes, head.length, this.newHead.length, tail.length);
    if (taken === 0) return undefined;
    if (!isUtf8(memory.subarray(inputAt, inputAt + taken))) return undefined;
    return { bytes: taken, lines: copyLines(memory.subarray(outputAt, outputAt + fast.written.value)) };
  }
}
