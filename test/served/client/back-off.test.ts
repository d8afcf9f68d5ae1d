import { BackOff } from '../../../src/served/client/back-off';

let now: number;
beforeEach(() => (now = 1_000_000));

function backOff(random = 1): BackOff {
  return new BackOff(
    () => now,
    () => random,
  );
}

function waits(of: BackOff, count: number): readonly number[] {
  return Array.from({ length: count }, () => of.next());
}

test('there is no wait before the first attempt; then it doubles from a quarter of a second up to 15 s', () => {
  expect(waits(backOff(), 10)).toEqual([0, 250, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000]);
});

test.each([
  [0, 125],
  [0.5, 187.5],
  [1, 250],
])('the wait is shorter by up to a half: at random %d, %d ms', (random, wait) => {
  expect(waits(backOff(random), 2)).toEqual([0, wait]);
});

test('what comes through makes the next attempt a first one', () => {
  const tried = backOff();
  expect(tried.isTrying).toBe(false);
  waits(tried, 5);
  expect(tried.isTrying).toBe(true);
  tried.works();

  expect(tried.isTrying).toBe(false);
  expect(waits(tried, 2)).toEqual([0, 250]);
});

test('connections that begin well, and that the server ends each time, are begun ever more slowly', () => {
  const tried = backOff();
  const waited = Array.from({ length: 20 }, () => {
    const wait = tried.next();
    now += wait;
    tried.works();
    tried.ended();
    return wait;
  });

  expect(waited.slice(0, 4)).toEqual([0, 0, 250, 500]);
  expect(waited.at(-1)).toBe(15_000);
});

test('a connection that lasts for half a minute after such an end is trusted again', () => {
  const tried = backOff();
  waits(tried, 8);
  tried.ended();
  now += 29_999;
  tried.works();
  expect(tried.next()).toBe(15_000);
  now += 1;
  tried.works();
  expect(tried.next()).toBe(0);
});
