import { indented, redactedPlaces } from '../../../../src/served/page/inspect/json-text';

describe('indented', () => {
  test.each([[{ a: [1, { b: 'x, {y}: "z" \\' }], c: {}, d: [], e: null, f: -1.5e3 }], [[[], [[]], ['']]]])(
    'shows %j as JSON.stringify does',
    (value) => {
      expect(indented(JSON.stringify(value))).toBe(JSON.stringify(value, undefined, 2));
    },
  );

  test('keeps each value as it was written', () => {
    expect(indented('{"n":12345678901234567890,"n":1.0,"s":"\\u0041"}')).toBe(
      '{\n  "n": 12345678901234567890,\n  "n": 1.0,\n  "s": "\\u0041"\n}',
    );
  });

  test.each(['Traceback: [no JSON]', '', '"text"'])('leaves %j as it is', (text) =>
    expect(indented(text)).toBe(text),
  );

  test('shows what was cut short as far as it goes', () => {
    expect(indented('{"a":["b, \\"c\\": {d')).toBe('{\n  "a": [\n    "b, \\"c\\": {d');
    expect(indented('}}]')).toBe('}}]');
  });
});

test('places of what was redacted are paths', () => {
  const text = '{"params":{"env":[{"name":"A","value":"-"},{"value":"x://-@h"}],"token":"-"},"id":1}';

  expect(redactedPlaces(text, '-')).toEqual(['params.env[0].value', 'params.env[1].value', 'params.token']);
  expect(redactedPlaces('{"cut', '-')).toEqual([]);
});
