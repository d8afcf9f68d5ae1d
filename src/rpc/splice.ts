/** Replaces places in a line and ends it: the only way in which a forwarded line differs from the received one. */

/** New JSON text for `[start, end)` of a line. */
export interface Edit {
  /** Offset of the first byte that is replaced. */
  readonly start: number;
  /** Offset after the last one; the same as `start` to insert. */
  readonly end: number;
  /** What stands there then. */
  readonly text: string;
}

/** A complete line with its line end, in one piece or, if it is long, in several. */
export type Line = Buffer | readonly Buffer[];

/** Lines up to this many bytes are copied into one piece: cheaper than writing several. */
const maxCopyBytes = 16 * 1024;
/** In more pieces than this, a long line is joined as well. */
const maxPieces = 16;
const lineEnd = Buffer.from('\n');

/** The line with `edits`, which must not overlap, and a line end. */
export function splice(line: Buffer, edits: readonly Edit[]): Line {
  const pieces: Buffer[] = [];
  let at = 0;
  for (const edit of inOrder(edits)) {
    pieces.push(line.subarray(at, edit.start), Buffer.from(edit.text));
    at = edit.end;
  }
  pieces.push(line.subarray(at), lineEnd);
  return line.length <= maxCopyBytes || pieces.length > maxPieces ? Buffer.concat(pieces) : pieces;
}

/** The line in one piece, without its line end. */
export function joined(line: Line): Buffer {
  const bytes = Buffer.isBuffer(line) ? line : Buffer.concat(line);
  return bytes.subarray(0, bytes.length - lineEnd.length);
}

/** Bytes of a line, with its line end. */
export function lengthOf(line: Line): number {
  if (Buffer.isBuffer(line)) return line.length;
  let length = 0;
  for (const piece of line) length += piece.length;
  return length;
}

/** The JSON text at `[start, end)` of a line, with edits that lie in it. */
export function cut(line: Buffer, start: number, end: number, edits: readonly Edit[]): string {
  let text = '';
  let at = start;
  for (const edit of inOrder(edits)) {
    text += line.toString('utf8', at, edit.start) + edit.text;
    at = edit.end;
  }
  return text + line.toString('utf8', at, end);
}

function inOrder(edits: readonly Edit[]): readonly Edit[] {
  return edits.length > 1 ? [...edits].sort((a, b) => a.start - b.start) : edits;
}
