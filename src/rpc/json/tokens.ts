/**
 * The grammar of JSON below objects and arrays and besides strings, on bytes: white space, numbers, literals.
 * Offsets in, offsets out; -1 means "this is not JSON". Reading past the end finds no byte that fits.
 */
import {
  carriageReturn,
  caseBit,
  dot,
  minus,
  newline,
  nine,
  plus,
  smallE,
  smallF,
  smallN,
  smallT,
  space,
  tab,
  zero,
} from './bytes';

/** Offset of the first byte at or after `at` that is not white space. */
export function skipSpace(text: Buffer, at: number): number {
  for (;;) {
    const c = text[at];
    if (c !== space && c !== tab && c !== carriageReturn && c !== newline) return at;
    at++;
  }
}

/** Offset after the number or literal at `at`, or -1. */
export function scalarEnd(text: Buffer, at: number): number {
  switch (text[at]) {
    case smallT:
      return literalEnd(text, at, 'true');
    case smallF:
      return literalEnd(text, at, 'false');
    case smallN:
      return literalEnd(text, at, 'null');
    default:
      return numberEnd(text, at);
  }
}

function literalEnd(text: Buffer, at: number, word: string): number {
  for (let i = 0; i < word.length; i++) if (text[at + i] !== word.charCodeAt(i)) return -1;
  return at + word.length;
}

function numberEnd(text: Buffer, at: number): number {
  if (text[at] === minus) at++;
  at = text[at] === zero ? at + 1 : digitsEnd(text, at);
  if (at >= 0 && text[at] === dot) at = digitsEnd(text, at + 1);
  if (at >= 0 && (text[at]! | caseBit) === smallE) {
    at++;
    if (text[at] === plus || text[at] === minus) at++;
    at = digitsEnd(text, at);
  }
  return at;
}

/** Offset after the digits at `at`, or -1 when no digit is there. */
function digitsEnd(text: Buffer, at: number): number {
  const start = at;
  while (text[at]! >= zero && text[at]! <= nine) at++;
  return at > start ? at : -1;
}
