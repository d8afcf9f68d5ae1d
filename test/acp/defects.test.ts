import { Host } from '../../src/system/host';
import { Defects } from '../../src/acp/defects';
import type { Child } from '../../src/acp/child/child';
import { noLog } from '../agent/agent-run';
import type { Message } from '../../src/rpc/message';
import { newCore } from '../support/sessions';

function newDefects(log = noLog): Defects {
  return new Defects(newCore(new Host({}), log), { hearNothing: () => undefined });
}

/** A child for which every request is open. */
function childWith(fail: () => boolean): Child {
  const find = (childId: string) => ({ childId });
  return { root: '/w', requests: { fail, find } } as unknown as Child;
}

describe('an agent over whose lines something went wrong', () => {
  test.each([
    ['is ended', true, 1],
    ['gets no more time when it is being ended', false, 0],
  ])('%s', (_, isUsable, count) => {
    const abandon = jest.fn();
    const child = { root: '/w', isUsable, abandon } as unknown as Child;
    newDefects().unservedFromAgent(child, new Error('a bug'));

    expect(abandon).toHaveBeenCalledTimes(count);
  });
});

test.each([
  ['its beginning', 10, 1],
  ['what is far behind that', 70_000, 0],
])('an answer that a line with words may quote is looked for in %s: %i', (_, bytes, count) => {
  jest.useFakeTimers();
  const fail = jest.fn(() => true);
  const child = childWith(fail);
  const line = Buffer.from(`words {"stopReason":"${'x'.repeat(bytes)}","id":1,"result":null}`);
  newDefects().fromAgent(child, { line, defect: 'json' } as Message);
  jest.advanceTimersByTime(5_000);
  jest.useRealTimers();

  expect(fail).toHaveBeenCalledTimes(count);
});

test('a flood of lines that may quote an answer is waited for once, and little of it is logged', () => {
  jest.useFakeTimers();
  const warn = jest.fn();
  const fail = jest.fn(() => true);
  const defects = newDefects({ ...noLog, warn });
  const child = childWith(fail);
  const line = Buffer.from('words {"id":1,"result":null} {"id":1,"result":null}');
  for (let i = 0; i < 1_000; i++) defects.fromAgent(child, { line, defect: 'json' } as Message);
  const timers = jest.getTimerCount();
  jest.advanceTimersByTime(5_000);
  jest.useRealTimers();

  expect(timers).toBe(1);
  expect(fail).toHaveBeenCalledTimes(1);
  expect(warn.mock.calls.length).toBeLessThan(20);
  expect(warn).toHaveBeenLastCalledWith(expect.objectContaining({ lines: 512 }), expect.anything());
});
