import { Checks } from '../../../src/commands/doctor/checks';
import type { Check } from '../../../src/commands/doctor/checks';

describe('Checks', () => {
  test('go on after one that throws, and tell each as soon as it is done', async () => {
    const told: Check[] = [];
    const checks = new Checks((check) => told.push(check));

    const nothing = await checks.find('first', () => Promise.reject(new Error('broken')), fine);
    const four = await checks.find('second', () => 4, fine);
    await checks.skip(['third', 'fourth'], 'later');

    expect([nothing, four]).toEqual([undefined, 4]);
    expect(told).toEqual([
      { name: 'first', status: 'fail', detail: 'broken' },
      { name: 'second', status: 'ok', detail: 'found 4' },
      { name: 'third', status: 'skip', detail: 'later' },
      { name: 'fourth', status: 'skip', detail: 'later' },
    ]);
    expect(checks.done).toEqual(told);
  });

  const fine = (found: unknown) => ({ status: 'ok' as const, detail: `found ${String(found)}` });
});
