/**
 * The grammar of JSON below objects and arrays, on bytes: white space, strings, numbers, literals.
 * Offsets in, offsets out; -1 means "this is not JSON". Reading past the end finds no byte that fits.
 */

/** The byte `"`. */
export const quote = 0x22;
/** The byte `\`. */
export const backslash = 0x5c;

/** 1: ends a run of ordinary bytes in a string (quote, backslash, control character). */
const stringStop = new Uint8Array(256);
stringStop.fill(1, 0, 0x20);
stringStop[quote] = 1;
stringStop[backslash] = 1;

/** 1: may follow a backslash by itself. */
const shortEscape = new Uint8Array(256);
for (const c of Buffer.from('"\\/bfnrt')) shortEscape[c] = 1;

/** Offset of the first byte at or after `at` that is not white space. */
export function skipSpace(text: Buffer, at: number): number {
  for (;;) {
    const c = text[at];
    if (c !== 0x20 && c !== 0x09 && c !== 0x0d && c !== 0x0a) return at;
    at++;
  }
}

/** Offset after the closing quote of the string whose content begins at `at`, or -1. */
export function stringEnd(text: Buffer, at: number): number {
  for (;;) {
    while (stringStop[text[at]!] === 0) at++;
    if (text[at] === quote) return at + 1;
    if (text[at] !== backslash) return -1;
    const escaped = text[at + 1]!;
    if (escaped === 0x75) {
      for (let i = 2; i < 6; i++) if (!isHexDigit(text[at + i]!)) return -1;
      at += 6;
    } else if (shortEscape[escaped] === 1) {
      at += 2;
    } else {
      return -1;
    }
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

/** What the string at `[start, end)`, quotes included, stands for. The string must be legal. */
export function unquote(text: Buffer, start: number, end: number): string {
  const raw = text.toString('utf8', start + 1, end - 1);
  return raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw;
}

function isHexDigit(c: number): boolean {
  return (c >= 0x30 && c <= 0x39) || ((c | 0x20) >= 0x61 && (c | 0x20) <= 0x66);
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
