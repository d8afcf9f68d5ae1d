import { fieldsOf, listOf, numberOf, shown, textOf } from '../../../src/served/page/fields';

test.each([undefined, null, 'text', 7, [{}]])('%j has no fields', (value) => {
  expect(fieldsOf(value)).toEqual({});
});

test('of a list all that is no object has no fields', () => {
  expect(listOf([{ a: 1 }, null, 'x'])).toEqual([{ a: 1 }, {}, {}]);
  expect(listOf({ length: 1 })).toEqual([]);
});

test('only what has the type counts', () => {
  expect([textOf('x'), textOf(1), numberOf(1.5), numberOf('1'), numberOf(NaN)]).toEqual([
    'x',
    undefined,
    1.5,
    undefined,
    undefined,
  ]);
});

test('characters that steer are written out, and no others', () => {
  expect(shown('a\u202eb\u2066c\u0000d\u001b[2J\u0085')).toBe('a\\u202eb\\u2066c\\u0000d\\u001b[2J\\u0085');
  expect(shown('tab\tline\r\nשלום 🍞')).toBe('tab\tline\nשלום 🍞');
});
