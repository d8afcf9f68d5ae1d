/**
 * Reads the envelope of a line that is too long to keep, piece by piece: enough to answer or fail the
 * request that it belongs to. The line is thrown away, so its grammar is not checked.
 */
import { backslash, quote } from './json';

/** Longest key or id that is kept, in bytes. */
const maxWordBytes = 256;

/** The envelope of one over-long line, as far as it has been read. */
export class Skim {
  /** JSON text of the id: a string, number or null. */
  id: string | undefined;
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

  /** The line is over for the asker: what it is and whom it concerns is known. */
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
    } else if (c === 0x7b || c === 0x5b) {
      this.#depth++;
    } else if (c === 0x7d || c === 0x5d) {
      this.#endMember();
      this.#depth--;
    } else if (this.#depth !== 1 || c === 0x20 || c === 0x09 || c === 0x0d) {
      this.#inScalar = false;
    } else if (c === 0x3a) {
      this.#setKey();
    } else if (c === 0x2c) {
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
    this.#key = this.#text();
    this.#word = [];
    if (this.#key === '"result"' || this.#key === '"error"') this.isResponse = true;
    if (this.#key === '"method"' || this.#key === '"params"') this.isMethod = true;
  }

  #endMember(): void {
    if (this.#depth !== 1) return;
    if (this.#key === '"id"' && this.#word.length > 0 && this.#word.length <= maxWordBytes)
      this.id = this.#text();
    this.#inScalar = false;
    this.#key = '';
    this.#word = [];
  }

  #text(): string {
    return Buffer.from(this.#word).toString('utf8');
  }
}
