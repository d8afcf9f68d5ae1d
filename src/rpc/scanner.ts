/**
 * The scanner of one stream of messages. What an agent says comes as hundreds of notifications that differ in one
 * string only, so each line is first compared with the one before: where both are the same up to that string and
 * after it, all else that is to be known of the line is known.
 */
import { isUtf8 } from 'node:buffer';
import { stringEnd } from './string';
import { newWalk, read } from './scan';
import type { Message, Plans } from './scan';

/** Longer lines are not kept for the next: in these, it is the string that takes the time. In bytes. */
const maxKeptBytes = 16 * 1024;

/** Fewer bytes are compared faster by ourselves. */
const minCompareBytes = 48;

/** Reads the lines of one stream, in their order, as `scan` does. */
export class Scanner {
  /** The last notification that was read as a whole and has a string in which nothing is wanted. */
  #last: Message | undefined;
  /** Where the content of that string begins in it, and how many bytes come after that. */
  #start = 0;
  #restBytes = 0;

  /** The plans must give the same for the same method each time. */
  constructor(private readonly plans: Plans) {}

  /** Reads one line, given without its line end. */
  scan(line: Buffer): Message {
    return this.#again(line) ?? this.#anew(line);
  }

  #again(line: Buffer): Message | undefined {
    const last = this.#last;
    const start = this.#start;
    if (last === undefined || line.length <= start || !isSame(last.line, 0, line, 0, start)) return undefined;
    const end = stringEnd(line, start) - 1;
    const restBytes = this.#restBytes;
    if (end < start || line.length - end !== restBytes) return undefined;
    if (!isSame(last.line, last.line.length - restBytes, line, end, restBytes) || !isUtf8(line))
      return undefined;
    return {
      line,
      kind: last.kind,
      id: undefined,
      idStart: -1,
      idEnd: -1,
      method: last.method,
      isError: false,
      bodyStart: last.bodyStart,
      bodyEnd: last.bodyEnd + line.length - last.line.length,
      fields: last.fields,
    };
  }

  #anew(line: Buffer): Message {
    const walk = newWalk(line);
    const message = read(walk, this.plans);
    const isFree = walk.longestStart > message.bodyStart && walk.longestEnd < message.bodyEnd;
    const isUseful = message.kind === 'notification' && line.length <= maxKeptBytes && isFree;
    if (isUseful && message.fields.every(({ end }) => end < walk.longestStart)) {
      this.#last = message;
      this.#start = walk.longestStart;
      this.#restBytes = line.length - walk.longestEnd;
    }
    return message;
  }
}

/** Whether `bytes` bytes of one, from there on, are those of the other. */
function isSame(one: Buffer, oneStart: number, other: Buffer, otherStart: number, bytes: number): boolean {
  if (bytes < minCompareBytes) {
    for (let i = 0; i < bytes; i++) if (one[oneStart + i] !== other[otherStart + i]) return false;
    return true;
  }
  return one.compare(other, otherStart, otherStart + bytes, oneStart, oneStart + bytes) === 0;
}
