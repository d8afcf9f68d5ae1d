import { quoted } from '../../src/workspace/quoted';

describe('quoted', () => {
  test.each<[unknown, string]>([
    ['a "b" é 漢 😀', '"a \\"b\\" é 漢 😀"'],
    ['\u001b[31m\u009b\u007f\n', '"\\u001b[31m\\u009b\\u007f\\n"'],
    ['\u202e\u200b\ufeff\u2028\u2029', '"\\u202e\\u200b\\ufeff\\u2028\\u2029"'],
    ['\ud800 \u{e0001}', '"\\ud800 \\udb40\\udc01"'],
    [['a', 1, true], '["a",1,true]'],
  ])('%j is %s', (value, text) => {
    expect(quoted(value)).toBe(text);
    expect(JSON.parse(quoted(value))).toEqual(value);
  });
});
