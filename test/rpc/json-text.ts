/** Arbitrary JSON as text: every spelling that the grammar allows, not only what a serializer writes. */
import fc from 'fast-check';

/** White space between tokens of one line, mostly none. */
export const space = fc.oneof(
  { weight: 4, arbitrary: fc.constant('') },
  { weight: 1, arbitrary: fc.string({ unit: fc.constantFrom(' ', '\t', '\r'), maxLength: 3 }) },
);

/** Numbers, also those that a double cannot hold. */
export const numberText = fc.stringMatching(/^-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,4})?([eE][+-]?[0-9]{1,3})?$/);

const stringPiece = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('a', 'é', '€', '😀', ' ', '/', '{', '}', '[', ']', ',', ':', '') },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 3 }).map(withoutStops) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('"', '\\', '/', 'b', 'f', 'n', 'r', 't').map((letter) => `\\${letter}`),
  },
  // Any code unit, so that surrogates stand alone too.
  { weight: 1, arbitrary: fc.nat(0xffff).map((unit) => escapeOf(String.fromCharCode(unit))) },
);

/** Strings with their quotes. */
export const stringText = fc.array(stringPiece, { maxLength: 8 }).map((pieces) => `"${pieces.join('')}"`);

/** A string, a number, `true`, `false` or `null`. */
export const scalarText = fc.oneof(stringText, numberText, fc.constantFrom('true', 'false', 'null'));

/** Any value. */
export const valueText: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'xsmall', withCrossShrink: true },
    scalarText,
    fc.array(tie('value'), { maxLength: 3 }).chain((items) => bracketed('[', items, ']')),
    fc
      .array(fc.tuple(stringText, tie('value')), { maxLength: 3 })
      .chain((members) => objectText(members.map(([key, value]) => `${key}:${value}`))),
  ),
})).value;

/** An object of the members given as `key:value`. */
export function objectText(members: readonly string[]): fc.Arbitrary<string> {
  return bracketed('{', members, '}');
}

/** A member `key:value` with white space around both. */
export function memberText(key: fc.Arbitrary<string>, value: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .tuple(space, key, space, space, value)
    .map(([before, name, after, between, text]) => `${before}${name}${after}:${between}${text}`);
}

/** Which letters of a string are written as escapes, one bit each; mostly none. */
const escapes = fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat() });

/** A string with its quotes, sometimes with escapes where none is needed. */
export function spelled(text: string): fc.Arbitrary<string> {
  const letters = text.split('');
  return escapes.map((bits) => {
    const parts = letters.map((letter, i) => ((bits >> (i % 31)) & 1 ? escapeOf(letter) : plain(letter)));
    return `"${parts.join('')}"`;
  });
}

/** Bytes near to those of `text`: some are put in, taken out or changed. */
export function mutated(text: fc.Arbitrary<string>): fc.Arbitrary<Buffer> {
  const byte = fc.oneof(fc.constantFrom(...Buffer.from('"\\{}[],:0-1.eEu\0\t\r\n tfn\x7f')), fc.nat(255));
  const change = fc.tuple(fc.nat(), fc.nat(2), fc.array(byte, { maxLength: 2 }));
  return fc.tuple(text, fc.array(change, { maxLength: 3 })).map(([start, changes]) => {
    const bytes = [...Buffer.from(start)];
    for (const [at, removed, added] of changes) bytes.splice(at % (bytes.length + 1), removed, ...added);
    return Buffer.from(bytes);
  });
}

function bracketed(open: string, items: readonly string[], close: string): fc.Arbitrary<string> {
  return fc.tuple(space, space).map(([first, last]) => `${open}${first}${items.join(',')}${last}${close}`);
}

function plain(letter: string): string {
  return JSON.stringify(letter).slice(1, -1);
}

function escapeOf(unit: string): string {
  const hex = unit.charCodeAt(0).toString(16).padStart(4, '0');
  return `\\u${unit.charCodeAt(0) % 2 === 0 ? hex : hex.toUpperCase()}`;
}

/** Without what may not stand in a string as it is. */
function withoutStops(text: string): string {
  return Array.from(text)
    .filter((letter) => letter >= ' ' && letter !== '"' && letter !== '\\')
    .join('');
}
