import { EarlyUpdates } from '../../../src/served/page/early-updates';

const updates = (sessionId: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({ sessionId, index }));

test('what is told of a session while it is made is had once, in order', async () => {
  const early = new EarlyUpdates();
  const made = early.during(Promise.resolve({ sessionId: 'a' }));
  for (const each of [...updates('a', 2), ...updates('b', 1)]) early.add(each);

  expect(early.take('a')).toEqual(updates('a', 2));
  expect(early.take('a')).toEqual([]);
  expect(early.take('b')).toEqual(updates('b', 1));
  expect(await made).toEqual({ sessionId: 'a' });
});

test('nothing is kept while no session is made, and of much only the latest', async () => {
  const early = new EarlyUpdates();
  for (const each of updates('a', 2)) early.add(each);
  expect(early.take('a')).toEqual([]);

  const made = early.during(Promise.reject(new Error('no')));
  for (const each of updates('a', 2_000)) early.add(each);
  expect(early.take('a')).toEqual(updates('a', 2_000).slice(-500));
  await expect(made).rejects.toThrow('no');
  early.add({ sessionId: 'a' });
  expect(early.take('a')).toEqual([]);
});
