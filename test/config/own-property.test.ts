import { ownValue } from '../../src/config/own-property';

test('ownValue finds what a record has itself, and nothing that every object has', () => {
  expect(ownValue({ a: 1 }, 'a')).toBe(1);
  expect(ownValue<unknown>({ a: 1 }, 'constructor')).toBeUndefined();
  expect(ownValue<unknown>({ a: 1 }, '__proto__')).toBeUndefined();
});
