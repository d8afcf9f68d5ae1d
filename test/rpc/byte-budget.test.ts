import { ByteBudget } from '../../src/rpc/byte-budget';

let budget: ByteBudget<number>;

beforeEach(() => (budget = new ByteBudget(10_000, (bytes) => bytes)));

test('there is no more room than the limit until some leave', () => {
  expect([5_000, 5_000, 2_000].map((bytes) => budget.take(bytes))).toEqual([true, false, true]);
  budget.giveBack(5_000);

  expect(budget.take(5_000)).toBe(true);
});

test('one item may be of any size, also beside those without a content', () => {
  expect([0, 100_000, 0, 1].map((bytes) => budget.take(bytes))).toEqual([true, true, false, false]);
  budget.giveBack(100_000);

  expect(budget.take(1)).toBe(true);
});

test('items without a content take room, too', () => {
  expect(Array.from({ length: 11 }, () => budget.take(0)).lastIndexOf(true)).toBe(8);
});
