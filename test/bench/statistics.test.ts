import { resolve } from 'node:path';

interface Interval {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

interface Statistics {
  readonly interval: (values: readonly number[]) => Interval;
  readonly compared: (figures: Readonly<Record<string, readonly number[]>>, budget: object) => number[];
  readonly verdict: (
    interval: Interval,
    budget: { readonly atLeast?: number; readonly atMost?: number },
  ) => string;
  readonly rotated: <T>(list: readonly T[], round: number) => T[];
  readonly quantile: (values: readonly number[], share: number) => number;
}

const { interval, compared, verdict, rotated, quantile } = jest.requireActual<Statistics>(
  resolve(__dirname, '../../bench/statistics.cjs'),
);

/** 1 to `count`, not in their order. */
const upTo = (count: number): number[] =>
  Array.from({ length: count }, (_, index) => ((index * 11) % count) + 1);

/** Probability that so few of `count` fair coins, or as many of the other side, fall on one side. */
function tails(count: number, atMost: number): number {
  let ways = 1;
  let sum = 0;
  for (let heads = 0; heads <= atMost; heads++) {
    sum += ways;
    ways = (ways * (count - heads)) / (heads + 1);
  }
  return (2 * sum) / 2 ** count;
}

describe('interval', () => {
  test.each([
    [5, 3, 1, 5],
    [8, 4.5, 2, 7],
    [15, 8, 4, 12],
    [31, 16, 11, 21],
  ])('of %i values has the ranks of the sign test', (count, median, low, high) => {
    expect(interval(upTo(count))).toEqual({ median, low, high });
  });

  test.each([5, 10, 15, 20, 31, 50])('of %i values misses the median in at most one of ten', (count) => {
    const { low } = interval(upTo(count));

    // Rank `low` is above the median if fewer than that many values are below it.
    expect(tails(count, low - 1)).toBeLessThanOrEqual(0.1);
    expect(tails(count, low)).toBeGreaterThan(0.1);
  });

  test('of fewer than five values is everything', () => {
    expect(interval([1, 2, 3, 4])).toEqual({ median: 2.5, low: -Infinity, high: Infinity });
  });

  test('is not moved by one outlier', () => {
    const values = [...upTo(14), 1_000_000];

    expect(interval(values)).toEqual({ median: 8, low: 4, high: 12 });
  });
});

describe('compared', () => {
  const figures = { cai: [30, 50], pipe: [20, 40], direct: [10, 20] };

  test('makes ratios within a round', () => {
    expect(compared(figures, { compare: 'ratio', of: 'cai', to: 'pipe' })).toEqual([1.5, 1.25]);
  });

  test('makes differences within a round', () => {
    expect(compared(figures, { compare: 'difference', of: 'cai', to: 'direct' })).toEqual([20, 30]);
  });

  test('sets what one adds against what the other adds', () => {
    expect(compared(figures, { compare: 'added', of: 'cai', to: 'pipe', over: 'direct' })).toEqual([2, 1.5]);
  });

  test('takes what is added for infinitely more where the other adds nothing', () => {
    const noisy = { cai: [30], pipe: [9], direct: [10] };

    expect(compared(noisy, { compare: 'added', of: 'cai', to: 'pipe', over: 'direct' })).toEqual([Infinity]);
  });

  test('leaves a figure as it is', () => {
    expect(compared(figures, { compare: 'value', of: 'cai' })).toEqual([30, 50]);
  });
});

describe('verdict', () => {
  test.each([
    ['pass', { low: 0.96, high: 0.99 }, { atLeast: 0.95 }],
    ['pass', { low: 0.95, high: 0.99 }, { atLeast: 0.95 }],
    ['inconclusive', { low: 0.94, high: 0.99 }, { atLeast: 0.95 }],
    ['fail', { low: 0.9, high: 0.94 }, { atLeast: 0.95 }],
    ['pass', { low: 1.1, high: 1.2 }, { atMost: 1.25 }],
    ['inconclusive', { low: 1.2, high: 1.3 }, { atMost: 1.25 }],
    ['fail', { low: 1.3, high: 1.4 }, { atMost: 1.25 }],
    ['inconclusive', { low: -Infinity, high: Infinity }, { atLeast: 0.95 }],
  ])('is %s of %j with %j', (expected, range, budget) => {
    expect(verdict({ median: 0.97, ...range }, budget)).toBe(expected);
  });
});

describe('rotated', () => {
  test('begins with another element each round, and each comes first as often', () => {
    const orders = [0, 1, 2, 3].map((round) => rotated(['a', 'b', 'c'], round).join(''));

    expect(orders).toEqual(['abc', 'bca', 'cab', 'abc']);
  });
});

describe('quantile', () => {
  test.each([
    [0, 1],
    [0.5, 3],
    [0.99, 4.96],
    [1, 5],
  ])('%d of 1 to 5', (share, expected) => expect(quantile(upTo(5), share)).toBeCloseTo(expected));
});
