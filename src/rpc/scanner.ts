/**
 * The scanner of one stream of messages. An agent's text comes as hundreds of notifications that differ in one string
 * only. So each line is first compared with the one before: if both are the same up to that string and after it, the
 * line does not have to be read.
 */
import { isUtf8 } from 'node:buffer';
import { stringEnd } from './json/string';
import { newWalk, read, type Message, type Plans } from './message';
import type { Pattern } from './webassembly/repeated-lines';

/** Parts of longer lines are copied, because a slice keeps all of its line in memory. In bytes. */
const maxKeptBytes = 16 * 1024;
/** With more bytes beside the string than this, a comparison saves nothing. */
const maxPartBytes = 4 * 1024;
/** Fewer bytes are compared faster one by one. */
const minCompareBytes = 48;

/** A pattern, and what else is known of its lines. */
interface Known extends Pattern {
  readonly method: string;
  readonly bodyStart: number;
  /** How far before the end of a line its body ends, in bytes. */
  readonly bytesAfterBody: number;
}

/** Reads the lines of one stream, in their order, as `scan` does. */
export class Scanner {
  #known: Known | undefined;

  /** The plans must give the same for the same method each time. */
  constructor(private readonly plans: Plans) {}

  /**
   * What the last notification has before and after its longest string without a field. Lines with the same bytes there
   * get the same fields.
   */
  get pattern(): Pattern | undefined {
    return this.#known;
  }

  /** Reads one line, given without its line end. */
  scan(line: Buffer): Message {
    return this.#matched(line) ?? this.#scanned(line);
  }

  /** The message of a line that differs from the known ones in that string alone. */
  #matched(line: Buffer): Message | undefined {
    if (this.#known === undefined) return undefined;
    const { head, tail, fields, method, bodyStart, bytesAfterBody } = this.#known;
    const start = head.length;
    if (line.length <= start || !isPartOf(line, 0, head)) return undefined;
    const end = stringEnd(line, start) - 1;
    if (end < start || line.length - end !== tail.length) return undefined;
    if (!isPartOf(line, end, tail) || !isUtf8(line)) return undefined;
    const bodyEnd = line.length - bytesAfterBody;
    return {
      line,
      kind: 'notification',
      id: undefined,
      idStart: -1,
      idEnd: -1,
      method,
      isError: false,
      bodyStart,
      bodyEnd,
      fields,
    };
  }

  /** Reads a whole line, and keeps what the next line may have in common with it. */
  #scanned(line: Buffer): Message {
    const walk = newWalk(line);
    const message = read(walk, this.plans);
    const { longestStart: start, longestEnd: end } = walk;
    const { fields, method, bodyStart, bodyEnd } = message;
    const isUseful = message.kind === 'notification' && start > bodyStart && end < bodyEnd;
    const isShort = start + line.length - end <= maxPartBytes;
    if (isUseful && isShort && fields.every((field) => field.end < start)) {
      const kept = line.length <= maxKeptBytes ? line : undefined;
      this.#known = {
        head: kept?.subarray(0, start) ?? Buffer.from(line.subarray(0, start)),
        tail: kept?.subarray(end) ?? Buffer.from(line.subarray(end)),
        fields,
        method,
        bodyStart,
        bytesAfterBody: line.length - bodyEnd,
      };
    }
    return message;
  }
}

function isPartOf(line: Buffer, at: number, part: Buffer): boolean {
  const { length } = part;
  if (length >= minCompareBytes) return part.compare(line, at, at + length) === 0;
  for (let i = 0; i < length; i++) if (part[i] !== line[at + i]) return false;
  return true;
}
