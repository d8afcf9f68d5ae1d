import fc from 'fast-check';
import { scalarEnd, skipSpace } from '../../../src/rpc/json/tokens';
import { runs } from '../../support/properties';
import { mutated, numberText } from '../json-text';
import { tight } from '../json-tree';

describe('skipSpace', () => {
  test('stops at the first byte that is no white space of JSON, or at the end', () => {
    expect(skipSpace(Buffer.from(' \t\r\n7 '), 0)).toBe(4);
    expect(skipSpace(Buffer.from('a  b'), 1)).toBe(3);
    expect(skipSpace(Buffer.from('  '), 0)).toBe(2);
    // A no-break space and a vertical tab are none.
    expect(skipSpace(Buffer.from('\u00a0'), 0)).toBe(0);
    expect(skipSpace(Buffer.from('\v'), 0)).toBe(0);
  });
});

describe('scalarEnd', () => {
  test.each([
    ['0', 1],
    ['-0', 2],
    ['01', 1],
    ['1.5e+3,', 6],
    ['1E9]', 3],
    ['123456789012345678901234567890', 30],
    ['true}', 4],
    ['false', 5],
    ['null ', 4],
  ])('finds the end of %j', (text, end) => expect(scalarEnd(Buffer.from(text), 0)).toBe(end));

  test.each(['', '-', '+1', '.5', '1.', '1.e3', '1e', '1e+', 'tru', 'True', 'nul', 'nan', 'Infinity', '-a'])(
    'finds none in %j',
    (text) => expect(scalarEnd(Buffer.from(text), 0)).toBe(-1),
  );

  test('agrees with JSON.parse on any bytes', () => {
    fc.assert(
      fc.property(mutated(fc.oneof(numberText, fc.constantFrom('true', 'false', 'null'))), (bytes) => {
        const value = tight(bytes);

        const isScalar = scalarEnd(bytes, 0) === bytes.length;

        expect(isScalar).toBe(value !== undefined && (value === null || /^[nb]/.test(typeof value)));
      }),
      runs,
    );
  });
});
