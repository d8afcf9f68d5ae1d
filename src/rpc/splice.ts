/** Replaces places in a line and ends it: the only way in which a forwarded line differs from the received one. */
import { lastAscii, newline } from './json/bytes';
import type { Message } from './message';

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
/** Longer texts of edits are not written letter by letter. */
const maxLetters = 64;
/** A long line with more pieces than this is joined as well. */
const maxPieces = 16;
const lineEnd = Buffer.of(newline);

/**
 * Copies are made here, one behind the other, so that all lines of one turn lie side by side and can be written at
 * once. A part that was returned never changes.
 */
const copyAreaBytes = 128 * 1024;
let copyArea = Buffer.allocUnsafeSlow(copyAreaBytes);
let usedBytes = 0;

/** The edit that replaces a field by `text`, JSON. */
export function replacing(field: Pick<Edit, 'start' | 'end'>, text: string): Edit {
  return { start: field.start, end: field.end, text };
}

/** The line with `edits`, which must not overlap, and a line end. */
export function splice(line: Buffer, edits: readonly Edit[]): Line {
  const ordered = inOrder(edits);
  if (line.length <= maxCopyBytes) {
    const bytes = largestLength(line, ordered);
    if (bytes <= copyAreaBytes) return copy(line, ordered, bytes);
  }
  const pieces: Buffer[] = [];
  let at = 0;
  for (const edit of ordered) {
    pieces.push(line.subarray(at, edit.start), Buffer.from(edit.text));
    at = edit.end;
  }
  pieces.push(line.subarray(at), lineEnd);
  return pieces.length > maxPieces ? Buffer.concat(pieces) : pieces;
}

/** Into the copy area; returns the number of bytes. An id is written faster letter by letter. */
function writeText(text: string): number {
  if (text.length > maxLetters) return Buffer.from(text).copy(copyArea, usedBytes);
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit > lastAscii) return Buffer.from(text).copy(copyArea, usedBytes);
    copyArea[usedBytes + i] = unit;
  }
  return text.length;
}

/** Upper bound of the edited line's length: a UTF-16 unit takes at most three bytes. */
function largestLength(line: Buffer, edits: readonly Edit[]): number {
  let length = line.length + lineEnd.length;
  for (const { text } of edits) length += 3 * text.length;
  return length;
}

/** A copy of whole lines, 128 KiB at most, behind the lines that were copied before. */
export function copyLines(lines: Buffer): Buffer {
  makeRoom(lines.length);
  const start = usedBytes;
  usedBytes += lines.copy(copyArea, usedBytes);
  return copyArea.subarray(start, usedBytes);
}

/** `bytes`: what it takes at most. */
function copy(line: Buffer, edits: readonly Edit[], bytes: number): Buffer {
  makeRoom(bytes);
  const start = usedBytes;
  let from = 0;
  for (const edit of edits) {
    usedBytes += line.copy(copyArea, usedBytes, from, edit.start);
    usedBytes += writeText(edit.text);
    from = edit.end;
  }
  usedBytes += line.copy(copyArea, usedBytes, from);
  copyArea[usedBytes++] = newline;
  return copyArea.subarray(start, usedBytes);
}

function makeRoom(bytes: number): void {
  if (usedBytes + bytes <= copyAreaBytes) return;
  copyArea = Buffer.allocUnsafeSlow(copyAreaBytes);
  usedBytes = 0;
}

/** The line with its line end; its bytes are not copied. */
export function ended(line: Buffer): Line {
  return [line, lineEnd];
}

/** The message under another id, JSON text; without a line end. */
export function withId(
  { line, idStart, idEnd }: Pick<Message, 'line' | 'idStart' | 'idEnd'>,
  id: string,
): Buffer {
  return joined(splice(line, [{ start: idStart, end: idEnd, text: id }]));
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
export function editedText(line: Buffer, start: number, end: number, edits: readonly Edit[]): string {
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
