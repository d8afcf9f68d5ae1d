/**
 * Reads the envelope of a line that cannot be passed on because it is too long or not a valid message: enough to answer
 * or fail the request that it belongs to. The line may come in pieces, and its grammar is not checked.
 */
import { overLimit } from './byte-budget';
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
  isResponse = false;
  isMethod = false;
  sessionId: string | undefined;
  length = 0;

  #depth = 0;
  #inString = false;
  #afterBackslash = false;
  /** The string or scalar of the envelope or the params that is being read or was read last. */
  #word: number[] = [];
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
      if (this.#depth === 1) this.#inParams = this.#key === 'params';
      this.#depth++;
    } else if (c === closeBrace || c === closeBracket) {
      this.#endMember();
      this.#depth--;
    } else if (!this.#isRead || c === space || c === tab || c === carriageReturn) {
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

  get #isRead(): boolean {
    return this.#depth === 1 || (this.#depth === 2 && this.#inParams);
  }

  #keep(c: number): void {
    if (this.#isRead && this.#word.length <= maxWordBytes) this.#word.push(c);
  }

  #setKey(): void {
    const word = this.#takeWord();
    const key = word?.[0] === quote ? unquote(word, 0, word.length) : '';
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
    const word = this.#takeWord();
    if (this.#depth === 2) {
      if (this.#param === 'sessionId' && word?.[0] === quote) this.sessionId = unquote(word, 0, word.length);
      this.#param = '';
      return;
    }
    const text = word?.toString('utf8');
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
