import { within } from '../../src/system/time-limit';
import { timersLeftBy } from '../support/timers';

describe('within', () => {
  test('resolves with what is done in time', async () => {
    expect(await within(60_000, Promise.resolve('done'))).toBe('done');
  });

  test('rejects with what fails in time', async () => {
    await expect(within(60_000, Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  });

  test('resolves with nothing when the time is over', async () => {
    expect(await within(1, new Promise(() => undefined))).toBeUndefined();
  });

  test('leaves no timer behind', async () => {
    const left = await timersLeftBy(60_000, async () => {
      await within(60_000, Promise.resolve());
      await within(60_000, Promise.reject(new Error('failed'))).catch(() => undefined);
    });

    expect(left).toBe(0);
  });
});
