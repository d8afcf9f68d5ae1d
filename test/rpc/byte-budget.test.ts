import { ByteBudget, overLimit } from '../../src/rpc/byte-budget';

let budget: ByteBudget<number>;

beforeEach(() => (budget = new ByteBudget(10_000, 'a.key', (bytes) => bytes)));

test('there is no more room than the limit until some leave', () => {
  expect([5_000, 5_000, 2_000].map((bytes) => budget.take(bytes))).toEqual([true, false, true]);
  budget.giveBack(5_000);

  expect(budget.take(5_000)).toBe(true);
});

test('what had no room is told with all sizes and the setting', () => {
  budget.take(5_000);

  expect(budget.excessWith(5_000)).toBe('with this it would be 11.8 KiB, more than the 9.8 KiB of a.key');
});

test.each([
  [2 ** 20 + 1, 2 ** 20, 'a.key', '1.1 MiB, more than the 1 MiB of a.key'],
  [3_000, 2 ** 20, 'a.key', 'more than the 1 MiB of a.key'],
  [5_000, 4_096, undefined, '4.9 KiB, more than the 4 KiB that are taken'],
])('%d bytes, of which %d may be, for %s', (bytes, limit, setting, text) => {
  expect(overLimit(bytes, limit, setting)).toBe(text);
});

test('one item may be of any size, also beside those without a content', () => {
  expect([0, 100_000, 0, 1].map((bytes) => budget.take(bytes))).toEqual([true, true, false, false]);
  budget.giveBack(100_000);

  expect(budget.take(1)).toBe(true);
});

test('items without a content take room, too', () => {
  expect(Array.from({ length: 11 }, () => budget.take(0)).lastIndexOf(true)).toBe(8);
});
