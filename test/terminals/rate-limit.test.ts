import { RateLimit } from '../../src/terminals/rate-limit';

describe('a rate limit', () => {
  let nowMs = 5_000;
  let limit: RateLimit;
  beforeEach(() => (limit = new RateLimit(3, 2, () => nowMs)));

  /** Takes so many; what each gets. */
  const take = (count: number): number[] => Array.from({ length: count }, () => limit.take());

  test('lets some pass at once, and says when the next one may', () => {
    expect(take(4)).toEqual([0, 0, 0, 500]);
    nowMs += 200;
    expect(take(1)).toEqual([300]);
    nowMs += 300;
    expect(take(2)).toEqual([0, 500]);
  });

  test('is not stricter for what was refused', () => {
    take(100);
    nowMs += 500;
    expect(take(2)).toEqual([0, 500]);
  });

  test('saves up no more than passes at once', () => {
    nowMs += 3_600_000;
    expect(take(4)).toEqual([0, 0, 0, 500]);
  });
});
