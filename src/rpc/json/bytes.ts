/** The bytes of JSON and its lines, by name. */

export const tab = 0x09,
  newline = 0x0a,
  carriageReturn = 0x0d,
  space = 0x20;

/** What values are put together with. */
export const openBrace = 0x7b,
  closeBrace = 0x7d,
  openBracket = 0x5b,
  closeBracket = 0x5d,
  colon = 0x3a,
  comma = 0x2c;

/** Of strings. */
export const quote = 0x22,
  backslash = 0x5c;

/** Of numbers. */
export const minus = 0x2d,
  plus = 0x2b,
  dot = 0x2e,
  zero = 0x30,
  nine = 0x39;

/** Letters; `caseBit` is what a small one has that the capital has not. */
export const capitalA = 0x41,
  capitalZ = 0x5a,
  smallA = 0x61,
  smallE = 0x65,
  smallF = 0x66,
  smallN = 0x6e,
  smallT = 0x74,
  smallU = 0x75,
  caseBit = 0x20;

/** All below it are control characters, which have to be escaped in a string. */
export const firstNoControl = 0x20;
/** All above it are parts of characters of several bytes. */
export const lastAscii = 0x7f;
