/** The pieces of one line, as they come from several chunks. */

/** Pieces below this are gathered, in buffers of that size. */
const smallPieceBytes = 4 * 1024;
const gatherBytes = 64 * 1024;
const nothing = Buffer.alloc(0);

/** Keeps pieces in their order. Small ones are gathered, because a buffer for each would cost many times what it holds. */
export class LinePieces {
  /** How many bytes the pieces have together. */
  bytes = 0;
  #pieces: Buffer[] = [];
  /** Small pieces behind those in `#pieces`, side by side in one buffer. */
  #gather = nothing;
  #gathered = 0;

  /** Adds a piece, which must not be changed afterwards. */
  add(piece: Buffer): void {
    this.bytes += piece.length;
    if (piece.length < smallPieceBytes && this.#gathered + piece.length <= this.#gather.length) {
      this.#gathered += piece.copy(this.#gather, this.#gathered);
      return;
    }
    this.#endGather();
    if (piece.length >= smallPieceBytes) {
      this.#pieces.push(piece);
    } else {
      this.#gather = Buffer.allocUnsafe(gatherBytes);
      this.#gathered = piece.copy(this.#gather);
    }
  }

  /** All pieces, in fewer buffers than there were. */
  get all(): readonly Buffer[] {
    this.#endGather();
    return this.#pieces;
  }

  take(): readonly Buffer[] {
    const { all } = this;
    this.#pieces = [];
    this.bytes = 0;
    return all;
  }

  #endGather(): void {
    if (this.#gathered > 0) this.#pieces.push(this.#gather.subarray(0, this.#gathered));
    this.#gather = nothing;
    this.#gathered = 0;
  }
}
