import { Host } from '../../src/system/host';
import { Defects } from '../../src/acp/defects';
import type { WorkspaceChild } from '../../src/acp/child/workspace-child';
import { noLog } from '../agent/agent-run';
import type { Message } from '../../src/rpc/message';
import { newCore } from '../support/sessions';

function newDefects(): Defects {
  return new Defects(newCore(new Host({}), noLog));
}

describe('an agent over whose lines something went wrong', () => {
  test.each([
    ['is ended', true, 1],
    ['gets no more time when it is being ended', false, 0],
  ])('%s', (_, isUsable, count) => {
    const abandon = jest.fn();
    const child = { root: '/w', isUsable, abandon } as unknown as WorkspaceChild;
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
  const child = { root: '/w', requests: { fail } } as unknown as WorkspaceChild;
  const line = Buffer.from(`words {"stopReason":"${'x'.repeat(bytes)}","id":1,"result":null}`);
  newDefects().fromAgent(child, { line, defect: 'json' } as Message);
  jest.advanceTimersByTime(5_000);
  jest.useRealTimers();

  expect(fail).toHaveBeenCalledTimes(count);
});
