import * as jsonc from 'jsonc-parser';
import { isObject, parseJson, placesInJson, textOf, textsIn } from '../../../src/workspace/devcontainer/json';

describe('parseJson', () => {
  test('reads comments and trailing commas', () => {
    expect(parseJson('// one\n{ "a": [1, /* two */ 2,], }', 'f')).toEqual({ a: [1, 2] });
  });

  test.each([
    ['{ "a": }', 'f:1:8: ValueExpected'],
    ['{\n  "a": 1\n  "b": 2 }', 'f:3:3: CommaExpected'],
    ['[]', 'f must hold an object: { ... }'],
    ['', 'f:1:1: ValueExpected'],
  ])('tells what is wrong with %j', (text, message) => {
    expect(() => parseJson(text, 'f')).toThrow(expect.objectContaining({ code: 'CONFIG', message }) as Error);
  });
});

describe('levels', () => {
  const lists = (levels: number, inside = '') => `{"a":${'['.repeat(levels)}${inside}${']'.repeat(levels)}}`;

  test.each([
    ['100', lists(99)],
    [
      'few, with brackets in texts and comments',
      lists(1, `"${'['.repeat(200)}", /* ${'['.repeat(200)} */ 1`),
    ],
    ['few, each often', lists(1, `${'{},'.repeat(200)} []`)],
  ])('can be %s', (_, text) => expect(parseJson(text, 'f')).toHaveProperty('a'));

  test.each([
    ['101', lists(100)],
    ['thousands', lists(3_000)],
    ['hundreds of thousands without an end', `{"a":${'['.repeat(200_000)}`],
    ['many with ends that do not fit', `{"a":${'[},'.repeat(80_000)}`],
  ])('cannot be %s', (_, text) =>
    expect(() => parseJson(text, 'f')).toThrow('f:1: more than 100 lists and objects lie in each other'),
  );
});

test('placesInJson tells where a key, or what is above it, stands', () => {
  const placeOf = placesInJson('{\n  "a": {\n    "b": [ 1 ] } }');

  expect(placeOf(['a', 'b'])).toEqual({ line: 3, column: 5 });
  expect(placeOf(['a', 'c'])).toEqual({ line: 2, column: 3 });
  expect(placeOf(['x'])).toEqual({ line: 1, column: 1 });
});

test('placesInJson parses the text once, and takes the first of two with one name', () => {
  const parseTree = jest.spyOn(jsonc, 'parseTree');
  const placeOf = placesInJson('{ "a": 1,\n  "a": 2, "b": [1,\n    2] }');

  expect([placeOf(['a']), placeOf(['b', 1])]).toEqual([
    { line: 1, column: 3 },
    { line: 3, column: 5 },
  ]);
  expect(parseTree).toHaveBeenCalledTimes(1);
});

test('values are told apart by what they are', () => {
  expect([{}, [], null, 'x'].map(isObject)).toEqual([true, false, false, false]);
  expect(['x', '', 1, undefined].map(textOf)).toEqual(['x', undefined, undefined, undefined]);
  expect(textsIn({ a: 'x', b: 1, c: true, d: null, e: {} })).toEqual({ a: 'x', b: '1', c: 'true' });
  expect(textsIn('x')).toEqual({});
});
