/** Bytes as they arrive: cut anywhere. */
import fc from 'fast-check';

/** Where to cut, as fractions of the length. */
export const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 8 });

/** The bytes in chunks that end at `places`; some may be empty. */
export function chunksOf(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = places.map((place) => Math.round(place * bytes.length)).sort((a, b) => a - b);
  return [...ends, bytes.length].map((end, i) => bytes.subarray(i === 0 ? 0 : ends[i - 1], end));
}
