/**
 * Reads the envelope of a line that cannot be passed on because it is too long or not a valid message: enough to answer
 * or fail the request that it belongs to. The line may come in pieces, and its grammar is not checked.
 */
import { overLimit } from './byte-budget';
import {
  backslash,
  closeBrace,
  closeBracket,
  colon,
  comma,
  openBrace,
  openBracket,
  quote,
} from './json/bytes';
import { scalarEnd, skipSpace } from './json/tokens';
import { stringEnd, unquote } from './json/string';

/**
 * Longest key or id that is kept, in bytes, and how many ids are: a line has more than one where the key is repeated.
 */
const maxWordBytes = 1_024;
const maxIds = 8;

/** 1: neither begins nor ends anything, outside strings. */
const isOfScalar = new Uint8Array(256).fill(1);
for (const c of Buffer.from('"{}[]:, \t\r')) isOfScalar[c] = 0;

/** The envelope of one line, as far as it has been read. */
export class Skim {
  /** JSON texts of the ids: strings, numbers or null. */
  readonly ids: string[] = [];
  isResponse = false;
  isMethod = false;
  sessionId: string | undefined;
  length = 0;

  #depth = 0;
  #inString = false;
  #afterBackslash = false;
  /** The string or scalar of the envelope or the params that is being read or was read last: its first bytes. */
  readonly #word = Buffer.allocUnsafe(maxWordBytes + 2);
  #wordBytes = 0;
  #inScalar = false;
  #key = '';
  #inParams = false;
  #param = '';

  get id(): string | undefined {
    return this.ids.at(-1);
  }

  /** What the line is and which request it concerns is known: no more has to be read. */
  get isKnown(): boolean {
    return this.id !== undefined && (this.isResponse || this.isMethod);
  }

  push(bytes: Buffer): void {
    this.length += bytes.length;
    for (let at = 0; at < bytes.length;)
      at = this.#inString ? this.#string(bytes, at) : this.#byte(bytes, at);
  }

  /** Reads on in a string; returns the offset after that, as `#byte` does. */
  #string(bytes: Buffer, start: number): number {
    let at = this.#afterBackslash ? start + 1 : start;
    while (at < bytes.length && bytes[at] !== quote && bytes[at] !== backslash) at++;
    this.#afterBackslash = bytes[at] === backslash;
    this.#inString = bytes[at] !== quote;
    const end = Math.min(at + 1, bytes.length);
    this.#keep(bytes, start, end);
    return end;
  }

  #byte(bytes: Buffer, at: number): number {
    const c = bytes[at]!;
    if (c === quote) {
      this.#inString = true;
      this.#wordBytes = 0;
      this.#keep(bytes, at, at + 1);
    } else if (c === openBrace || c === openBracket) {
      if (this.#depth === 1) this.#inParams = this.#key === 'params';
      this.#depth++;
    } else if (c === closeBrace || c === closeBracket) {
      this.#endMember();
      this.#depth--;
    } else if (isOfScalar[c] === 1) {
      return this.#scalar(bytes, at);
    } else if (c !== colon && c !== comma) {
      this.#inScalar = false;
      return skipSpace(bytes, at);
    } else if (!this.#isRead) {
      this.#inScalar = false;
    } else if (c === colon) {
      this.#setKey();
    } else {
      this.#endMember();
    }
    return at + 1;
  }

  #scalar(bytes: Buffer, start: number): number {
    let end = start + 1;
    while (isOfScalar[bytes[end]!] === 1) end++;
    if (!this.#inScalar) this.#wordBytes = 0;
    this.#inScalar = this.#isRead;
    this.#keep(bytes, start, end);
    return end;
  }

  get #isRead(): boolean {
    return this.#depth === 1 || (this.#depth === 2 && this.#inParams);
  }

  #keep(bytes: Buffer, start: number, end: number): void {
    if (!this.#isRead) return;
    for (let at = start; at < end && this.#wordBytes <= maxWordBytes; at++)
      this.#word[this.#wordBytes++] = bytes[at]!;
  }

  #setKey(): void {
    const end = this.#takeWord();
    this.#wordBytes = 0;
    const key = this.#word[0] === quote && end > 0 ? unquote(this.#word, 0, end) : '';
    if (this.#depth === 2) {
      this.#param = key;
      return;
    }
    this.#key = key;
    if (this.#key === 'result' || this.#key === 'error') this.isResponse = true;
    if (this.#key === 'method' || this.#key === 'params') this.isMethod = true;
  }

  #endMember(): void {
    if (!this.#isRead) return;
    const isWanted = this.#depth === 1 ? this.#key === 'id' : this.#param === 'sessionId';
    const end = isWanted ? this.#takeWord() : 0;
    this.#wordBytes = 0;
    if (this.#depth === 2) {
      if (end > 0 && this.#word[0] === quote) this.sessionId = unquote(this.#word, 0, end);
      this.#param = '';
      return;
    }
    if (end > 0 && this.ids.length < maxIds) {
      const text = this.#word.toString('utf8', 0, end);
      if (text !== 'true' && text !== 'false') this.ids.push(text);
    }
    this.#inScalar = false;
    this.#key = '';
  }

  /** How long the word is, if it was kept whole and is JSON, so that it may be written into an answer; else 0. */
  #takeWord(): number {
    const end = this.#wordBytes;
    if (end > maxWordBytes) return 0;
    // What is left of longer words must not go on with it.
    this.#word[end] = 0;
    const found = this.#word[0] === quote ? stringEnd(this.#word, 1) : scalarEnd(this.#word, 0);
    return found === end ? end : 0;
  }
}

/** A line that is longer than allowed. It is not kept; `skim` has what was read of its envelope. */
export interface OverlongLine {
  /** What its envelope says, as far as it was read. */
  readonly skim: Skim;
  /** How long a line may be, in bytes. */
  readonly limitBytes: number;
}

/** Why an over-long line is refused, as the rest of a sentence; `setting`: the key of the configuration for its limit. */
export function tooLong({ skim, limitBytes }: OverlongLine, setting: string): string {
  return `has ${overLimit(skim.length, limitBytes, setting)}: raise it in your configuration`;
}
