import { KnownIds } from '../../../../src/served/server/traffic/known-ids';

test('remembers the latest, and none that is too long', () => {
  const ids = new KnownIds();
  ids.add('first');
  for (let n = 1; n <= 10_000; n++) ids.add(String(n));
  ids.add('x'.repeat(2_000));

  expect(['first', '1', '10000', 'x'.repeat(2_000)].map((id) => ids.has(id))).toEqual([
    false,
    true,
    true,
    false,
  ]);
});
