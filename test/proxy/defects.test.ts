import { Host } from '../../src/system/host';
import { Core } from '../../src/relay/core';
import { Defects } from '../../src/proxy/defects';
import { SignIn } from '../../src/sign-in/sign-in';
import { Skim } from '../../src/rpc/long-line';
import { LineWriter } from '../../src/rpc/writer';
import type { WorkspaceChild } from '../../src/child/workspace-child';
import { noLog } from '../agent/agent-run';
import { Gate } from '../rpc/gate';
import { newTable } from '../support/sessions';

function newDefects(): Defects {
  const writer = new LineWriter(new Gate(), 1_024, () => undefined);
  const signIn = new SignIn({ agent: undefined, host: new Host({}), log: noLog });
  return new Defects(
    new Core(
      newTable(),
      writer.lane(() => undefined),
      noLog,
      signIn,
    ),
  );
}

describe('an agent over whose lines something went wrong', () => {
  test.each([
    ['is ended', true, 2],
    ['gets no more time when it is being ended', false, 0],
  ])('%s', (_, isUsable, count) => {
    const abandon = jest.fn();
    const child = { root: '/w', isUsable, abandon } as unknown as WorkspaceChild;
    const defects = newDefects();

    defects.overlongFromAgent(child, new Skim());
    defects.unservedFromAgent(child, new Error('a bug'));

    expect(abandon).toHaveBeenCalledTimes(count);
  });
});
