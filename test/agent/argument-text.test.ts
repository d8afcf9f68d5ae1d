import { isPassable, isVariableName } from '../../src/agent/argument-text';

describe('isPassable', () => {
  test.each(['', 'text', 'ä\n☃', '\u{1f600}', '=', '-'])('takes %j', (text) => {
    expect(isPassable(text)).toBe(true);
  });

  test.each(['\0', 'a\0b', '\ud83d', 'a\udc00', 1, null, undefined, ['a']])('refuses %j', (value) => {
    expect(isPassable(value)).toBe(false);
  });
});

describe('isVariableName', () => {
  test.each(['A', 'my.name', 'ä'])('takes %j', (text) => expect(isVariableName(text)).toBe(true));

  test.each(['', 'A=B', '=', 'A\0', '\ud83d', 1, undefined])('refuses %j', (value) => {
    expect(isVariableName(value)).toBe(false);
  });
});
