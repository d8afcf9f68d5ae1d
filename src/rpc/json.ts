/**
 * The grammar of JSON below objects and arrays and besides strings, on bytes: white space, numbers, literals.
 * Offsets in, offsets out; -1 means "this is not JSON". Reading past the end finds no byte that fits.
 */

/** Offset of the first byte at or after `at` that is not white space. */
export function skipSpace(text: Buffer, at: number): number {
  for (;;) {
    const c = text[at];
    if (c !== 0x20 && c !== 0x09 && c !== 0x0d && c !== 0x0a) return at;
    at++;
  }
}

/** Offset after the number or literal at `at`, or -1. */
export function scalarEnd(text: Buffer, at: number): number {
  switch (text[at]) {
    case 0x74:
      return literalEnd(text, at, 'true');
    case 0x66:
      return literalEnd(text, at, 'false');
    case 0x6e:
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
  if (text[at] === 0x2d) at++;
  at = text[at] === 0x30 ? at + 1 : digitsEnd(text, at);
  if (at >= 0 && text[at] === 0x2e) at = digitsEnd(text, at + 1);
  if (at >= 0 && (text[at]! | 0x20) === 0x65) {
    at++;
    if (text[at] === 0x2b || text[at] === 0x2d) at++;
    at = digitsEnd(text, at);
  }
  return at;
}

/** Offset after the digits at `at`, or -1 when there is none. */
function digitsEnd(text: Buffer, at: number): number {
  const start = at;
  while (text[at]! >= 0x30 && text[at]! <= 0x39) at++;
  return at > start ? at : -1;
}
