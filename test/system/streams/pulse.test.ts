import { Pulse } from '../../../src/system/streams/pulse';

const tickMs = 15_000;
let carrier: { bytesRead: number; bytesWritten: number; writableLength: number };
let pings: number;
let deaths: number;
let pulse: Pulse;

beforeEach(() => {
  jest.useFakeTimers();
  carrier = { bytesRead: 0, bytesWritten: 0, writableLength: 0 };
  pings = 0;
  deaths = 0;
  pulse = new Pulse({ ping: () => pings++, carrier, onDead: () => deaths++ });
});

afterEach(() => {
  pulse.stop();
  jest.useRealTimers();
});

describe('a ping is sent', () => {
  test('every 15 s', () => {
    for (let tick = 1; tick <= 5; tick++) {
      carrier.bytesRead++;
      jest.advanceTimersByTime(tickMs);
      expect(pings).toBe(tick);
    }
  });

  test('every 256 messages, and every MiB', () => {
    for (let count = 0; count < 255; count++) pulse.sent(1);
    expect(pings).toBe(0);
    pulse.sent(1);
    expect(pings).toBe(1);
    pulse.sent(2 ** 20 - 1);
    expect(pings).toBe(1);
    pulse.sent(1);
    expect(pings).toBe(2);
  });

  test('on demand, and then not for a while', () => {
    for (let count = 0; count < 200; count++) pulse.sent(1);
    pulse.ping();
    for (let count = 0; count < 200; count++) pulse.sent(1);

    expect(pings).toBe(1);
  });

  test('never after the end', () => {
    pulse.stop();
    jest.advanceTimersByTime(10 * tickMs);

    expect([pings, deaths]).toEqual([0, 0]);
  });
});

describe('a socket is dead', () => {
  test('30 s after a ping to which nothing came, once', () => {
    jest.advanceTimersByTime(3 * tickMs - 1);
    expect([pings, deaths]).toEqual([2, 0]);
    jest.advanceTimersByTime(1);
    expect(deaths).toBe(1);
    jest.advanceTimersByTime(10 * tickMs);
    expect([pings, deaths]).toEqual([2, 1]);
  });

  test('not while something comes, or is taken', () => {
    carrier.bytesWritten = 1_000;
    carrier.writableLength = 1_000;
    for (let tick = 0; tick < 10; tick++) {
      if (tick % 2 === 0) carrier.bytesRead++;
      else carrier.writableLength--;
      jest.advanceTimersByTime(2 * tickMs);
    }

    expect(deaths).toBe(0);
  });

  test('also if the system takes the pings', () => {
    for (let tick = 0; tick < 3; tick++) {
      carrier.bytesWritten += 10;
      jest.advanceTimersByTime(tickMs);
    }

    expect(deaths).toBe(1);
  });

  test('also if more and more waits', () => {
    for (let tick = 0; tick < 3; tick++) {
      carrier.bytesWritten += 10;
      carrier.writableLength += 10;
      jest.advanceTimersByTime(tickMs);
    }

    expect(deaths).toBe(1);
  });

  test('later if much waits, as how much of one write is taken cannot be seen', () => {
    // At 16 bytes in a millisecond: for two more times.
    carrier.bytesWritten = 2 * 16 * tickMs;
    carrier.writableLength = carrier.bytesWritten;
    jest.advanceTimersByTime(5 * tickMs - 1);
    expect(deaths).toBe(0);
    jest.advanceTimersByTime(1);
    expect(deaths).toBe(1);
  });

  test('not while we do not read, nor at once after that', () => {
    pulse.setPaused(true);
    jest.advanceTimersByTime(10 * tickMs);
    pulse.setPaused(false);
    jest.advanceTimersByTime(2 * tickMs);
    expect(deaths).toBe(0);
    jest.advanceTimersByTime(tickMs);
    expect(deaths).toBe(1);
  });
});
