/**
 * Strings of JSON, on bytes: where they end, and what they stand for. Offsets in, offsets out; -1 means "this is not
 * JSON". Reading past the end finds no byte that fits.
 *
 * Most bytes of long messages are the inside of long strings, which are read many bytes at a time where that is
 * possible.
 */
import { backslash, caseBit, firstNoControl, nine, quote, smallA, smallF, smallU, zero } from './bytes';
import { inputAt, maxInputBytes, vectors, type Vectors } from '../webassembly/vectors';

/** 1: ends a run of ordinary bytes in a string (quote, backslash, control character). */
const stringStop = new Uint8Array(256);
stringStop.fill(1, 0, firstNoControl);
stringStop[quote] = 1;
stringStop[backslash] = 1;

/** What lies further in a string than this is read by `longStringEnd`, which takes longer to begin with. */
const shortStringBytes = 96;
/** False once the vectors were needed and could not be loaded. */
let hasVectors = true;

/** 1: may follow a backslash by itself. */
const shortEscape = new Uint8Array(256);
for (const c of Buffer.from('"\\/bfnrt')) shortEscape[c] = 1;

/** Offset after the closing quote of the string whose content begins at `at`, or -1. */
export function stringEnd(text: Buffer, at: number): number {
  const longAt = hasVectors ? at + shortStringBytes : Infinity;
  while (at < longAt) {
    while (stringStop[text[at]!] === 0 && at < longAt) at++;
    if (at === longAt) break;
    if (text[at] === quote) return at + 1;
    if (text[at] !== backslash) return -1;
    at = escapeEnd(text, at);
    if (at < 0) return -1;
  }
  const fast = vectors();
  if (fast !== null) return longStringEnd(fast, text, at);
  hasVectors = false;
  return stringEnd(text, at);
}

/** Offset after the escape whose backslash is at `at`, or -1. */
function escapeEnd(text: Buffer, at: number): number {
  const escaped = text[at + 1]!;
  if (shortEscape[escaped] === 1) return at + 2;
  if (escaped !== smallU) return -1;
  for (let i = 2; i < 6; i++) if (!isHexDigit(text[at + i]!)) return -1;
  return at + 6;
}

/** The first part of a long string that is looked at; it is small, since the string may end soon. In bytes. */
const firstBytes = 512;

/** As `stringEnd`, for a string of which much is still to come. */
function longStringEnd({ memory: window, plainEnd }: Vectors, text: Buffer, at: number): number {
  for (let bytes = firstBytes; ; bytes = Math.min(8 * bytes, maxInputBytes)) {
    const length = text.copy(window, inputAt, at, at + bytes);
    if (length === 0) return -1;
    // A control character, at which the last step ends.
    window[length] = 0;
    let stop = plainEnd(0);
    while (stop < length) {
      if (window[stop] === quote) return at + stop + 1;
      if (window[stop] !== backslash) return -1;
      // One behind the other, as in text of other alphabets.
      let end = at + stop;
      while (text[end] === backslash) {
        end = escapeEnd(text, end);
        if (end < 0) return -1;
      }
      stop = end - at < length ? plainEnd(end - at) : end - at;
    }
    at += stop;
  }
}

/** What the string at `[start, end)`, quotes included, stands for. The string must be legal. */
export function unquote(text: Buffer, start: number, end: number): string {
  return end - start > maxKnownBytes ? decode(text, start, end) : known(text, start, end);
}

function decode(text: Buffer, start: number, end: number): string {
  const raw = text.toString('utf8', start + 1, end - 1);
  return raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw;
}

/**
 * Of a stream of messages, nearly all have the same methods, tags and ids: to compare a short string with the one
 * that was met before takes a third of the time of decoding it.
 */
const maxKnownBytes = 64;
const knownCount = 256;
const knownBytes = new Array<Uint8Array>(knownCount).fill(new Uint8Array());
const knownStrings = new Array<string>(knownCount).fill('');

function known(text: Buffer, start: number, end: number): string {
  const length = end - start;
  const slot = (length * 7 + text[start + (length >> 1)]! * 31 + text[end - 2]!) % knownCount;
  const bytes = knownBytes[slot]!;
  if (bytes.length === length) {
    let at = 0;
    while (at < length && bytes[at] === text[start + at]) at++;
    if (at === length) return knownStrings[slot]!;
  }
  const string = decode(text, start, end);
  knownBytes[slot] = new Uint8Array(text.subarray(start, end));
  knownStrings[slot] = string;
  return string;
}

function isHexDigit(c: number): boolean {
  const small = c | caseBit;
  return (c >= zero && c <= nine) || (small >= smallA && small <= smallF);
}
