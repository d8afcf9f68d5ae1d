import { isUtf8 } from 'node:buffer';
import fc from 'fast-check';
import { stringEnd, unquote } from '../../../src/rpc/json/string';
import { runs } from '../../support/properties';
import { mutated, stringText } from '../json-text';
import { tight } from '../json-tree';

describe('stringEnd', () => {
  test('agrees with JSON.parse on any bytes', () => {
    fc.assert(
      fc.property(mutated(stringText), (bytes) => {
        fc.pre(isUtf8(bytes));

        const isString = bytes[0] === 0x22 && stringEnd(bytes, 1) === bytes.length;

        expect(isString).toBe(typeof tight(bytes) === 'string');
      }),
      runs,
    );
  });

  describe.each([0, 90, 96, 500, 608, 4_700, 70_000, 140_000])('after %i bytes of a string', (before) => {
    const offsets = Array.from({ length: 24 }, (_, i) => before + i);

    test.each(['\\n', '\\\\', '\\u00e9', '\\u00e9\\u00e9', 'é', '😀', '\x7f'])(
      'goes on behind %j',
      (item) => {
        for (const offset of offsets) {
          const text = Buffer.from(`"${'a'.repeat(offset)}${item}${'b'.repeat(40)}"`);
          expect(stringEnd(text, 1)).toBe(text.length);
        }
      },
    );

    test.each(['\t', '\x1f', '\\x', '\\u00g0', '\\u00'])('finds no end behind %j', (item) => {
      for (const offset of offsets) {
        expect(stringEnd(Buffer.from(`"${'a'.repeat(offset)}${item}"`), 1)).toBe(-1);
      }
    });

    test('ends at a quote, whatever follows', () => {
      for (const offset of offsets) {
        expect(stringEnd(Buffer.from(`"${'a'.repeat(offset)}"\\"\t`), 1)).toBe(offset + 2);
      }
    });

    test('finds no end where the bytes end', () => {
      for (const offset of offsets) {
        for (const end of ['', '\\', '\\u0', '\\"']) {
          expect(stringEnd(Buffer.from(`"${'a'.repeat(offset)}${end}`), 1)).toBe(-1);
        }
      }
    });
  });
});

describe('unquote', () => {
  test('gives what JSON.parse gives', () => {
    fc.assert(
      fc.property(fc.string(), stringText, (before, text) => {
        const bytes = Buffer.from(before + text);
        const start = Buffer.byteLength(before);

        expect(unquote(bytes, start, bytes.length)).toBe(JSON.parse(text));
      }),
      runs,
    );
  });

  test('tells strings apart that look alike', () => {
    const texts = ['"s-1-a"', '"s-2-a"', '"s-1-b"', '"s\\u002d"', '"s\\u002e"', '""'];

    for (const text of [...texts, ...texts]) {
      expect(unquote(Buffer.from(text), 0, text.length)).toBe(JSON.parse(text));
    }
  });
});
