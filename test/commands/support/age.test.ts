import { ageOf } from '../../../src/commands/support/age';

describe('ageOf', () => {
  test.each([
    [-5, '0s'],
    [999, '0s'],
    [59_999, '59s'],
    [60_000, '1m'],
    [3_599_999, '59m'],
    [3_600_000, '1h'],
    [86_399_999, '23h'],
    [86_400_000, '1d'],
    [400 * 86_400_000, '400d'],
  ])('%d ms is %s', (ageMs, text) => {
    expect(ageOf(ageMs)).toBe(text);
  });
});
