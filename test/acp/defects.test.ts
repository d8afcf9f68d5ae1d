import { Host } from '../../src/system/host';
import { Defects } from '../../src/acp/defects';
import type { WorkspaceChild } from '../../src/acp/child/workspace-child';
import { noLog } from '../agent/agent-run';
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
