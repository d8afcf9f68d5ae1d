import { need, runChecks, type Check, type Facts } from '../../../src/commands/doctor/checks';
import { CaiError } from '../../../src/errors';
import { Host } from '../../../src/system/host';

test('checks go on after one that throws, and each is told as soon as it is done', async () => {
  const facts: Facts = { host: new Host({}), wanted: {} };
  const told: Check[] = [];

  const done = await runChecks(
    [
      ['first', () => Promise.reject(new Error('broken'))],
      ['second', () => ({ status: 'ok', detail: `after ${told.length}` })],
      ['nothing to say', () => undefined],
      ['third', () => ({ status: 'ok', detail: need(facts, 'named').shown })],
    ],
    facts,
    (check) => told.push(check),
  );

  expect(told).toEqual([
    { name: 'first', status: 'fail', detail: 'broken' },
    { name: 'second', status: 'ok', detail: 'after 1' },
    { name: 'third', status: 'skip', detail: 'there is no Docker context to ask' },
  ]);
  expect(done).toEqual(told);
});

test('an engine that has left one question unanswered is not asked another', async () => {
  const facts: Facts = { host: new Host({}), wanted: {}, engine: {} as never };

  const done = await runChecks(
    [
      ['first', () => Promise.reject(new CaiError('NOT_READY', 'no answer'))],
      ['second', () => ({ status: 'ok', detail: need(facts, 'engine').about.name })],
    ],
    facts,
    () => undefined,
  );

  expect(done).toEqual([
    { name: 'first', status: 'fail', detail: 'no answer' },
    { name: 'second', status: 'skip', detail: 'this needs the engine' },
  ]);
});
