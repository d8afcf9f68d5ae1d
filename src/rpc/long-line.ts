/**
 * Reads the envelope of a line that cannot be passed on because it is too long or not a valid message: enough to answer
 * or fail the request that it belongs to. The line may come in pieces, and its grammar is not checked.
 */
import {
  backslash,
  carriageReturn,
  closeBrace,
  closeBracket,
  colon,
  comma,
  openBrace,
  openBracket,
  quote,
  space,
  tab,
} from './json/bytes';
import { scalarEnd } from './json/tokens';
import { stringEnd, unquote } from './json/string';

/**
 * Longest key or id that is kept, in bytes, and how many ids are: a line has more than one where the key is repeated.
 */
const maxWordBytes = 1_024;
const maxIds = 8;

/** The envelope of one line, as far as it has been read. */
export class Skim {
  /** JSON texts of the ids: strings, numbers or null. */
  readonly ids: string[] = [];
  /** It has `result` or `error`. */
  isResponse = false;
  /** It has `method` or `params`. */
  isMethod = false;
  /** Bytes read. */
  length = 0;

  #depth = 0;
  #inString = false;
  #afterBackslash = false;
  /** The string or scalar at depth 1 that is being read or was read last. */
  #word: number[] = [];
  #inScalar = false;
  #key = '';

  /** The last id. */
  get id(): string | undefined {
    return this.ids.at(-1);
  }

  /** What the line is and which request it concerns is known: no more has to be read. */
  get isKnown(): boolean {
    return this.id !== undefined && (this.isResponse || this.isMethod);
  }

  /** Reads on. */
  push(bytes: Buffer): void {
    this.length += bytes.length;
    for (const c of bytes) {
      if (this.#inString) this.#stringByte(c);
      else this.#byte(c);
    }
  }

  #stringByte(c: number): void {
    this.#keep(c);
    if (this.#afterBackslash) this.#afterBackslash = false;
    else if (c === backslash) this.#afterBackslash = true;
    else if (c === quote) this.#inString = false;
  }

  #byte(c: number): void {
    if (c === quote) {
      this.#inString = true;
      this.#word = [];
      this.#keep(c);
    } else if (c === openBrace || c === openBracket) {
      this.#depth++;
    } else if (c === closeBrace || c === closeBracket) {
      this.#endMember();
      this.#depth--;
    } else if (this.#depth !== 1 || c === space || c === tab || c === carriageReturn) {
      this.#inScalar = false;
    } else if (c === colon) {
      this.#setKey();
    } else if (c === comma) {
      this.#endMember();
    } else {
      if (!this.#inScalar) this.#word = [];
      this.#inScalar = true;
      this.#keep(c);
    }
  }

  #keep(c: number): void {
    if (this.#depth === 1 && this.#word.length <= maxWordBytes) this.#word.push(c);
  }

  #setKey(): void {
    const word = this.#takeWord();
    this.#key = word?.[0] === quote ? unquote(word, 0, word.length) : '';
    if (this.#key === 'result' || this.#key === 'error') this.isResponse = true;
    if (this.#key === 'method' || this.#key === 'params') this.isMethod = true;
  }

  #endMember(): void {
    if (this.#depth !== 1) return;
    const text = this.#takeWord()?.toString('utf8');
    const isId = this.#key === 'id' && text !== undefined && text !== 'true' && text !== 'false';
    if (isId && this.ids.length < maxIds) this.ids.push(text);
    this.#inScalar = false;
    this.#key = '';
  }

  /** The word, if it was kept whole and is JSON, so that it may be written into an answer. */
  #takeWord(): Buffer | undefined {
    const word = Buffer.from(this.#word);
    this.#word = [];
    if (word.length > maxWordBytes) return undefined;
    const end = word[0] === quote ? stringEnd(word, 1) : scalarEnd(word, 0);
    return end === word.length ? word : undefined;
  }
}
