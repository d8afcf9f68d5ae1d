import { setImmediate as settled } from 'node:timers/promises';
import type { HeldTask } from '../../../src/acp/child/held-tasks';
import type { Child } from '../../../src/acp/child/child';
import { scanCall } from '../../../src/rpc/message';
import { editorRow } from '../../../src/rpc/protocol/method-rows';
import { wantedIn } from '../../../src/rpc/json';
import { Host } from '../../../src/system/host';
import { createPathMap } from '../../../src/system/paths/path-map';
import { openLog } from '../../../src/system/log';
import { collectGarbage } from '../../support/garbage';
import { newCore } from '../../support/sessions';

test('a call about no session leaves nothing of its line until its agent answers', async () => {
  const core = newCore(new Host({ HOME: '/home/user' }), openLog({ CAI_LOG_LEVEL: 'silent' }));
  const open: unknown[] = [];
  const child = {
    state: 'ready',
    whenReady: (task: HeldTask) => task.run(),
    request: (_: string, __: unknown, request: unknown) => void open.push(request),
  } as unknown as Child;
  const map = createPathMap({ hostRoots: ['/w'], agentRoots: ['/w'] });
  function pass(): WeakRef<Buffer> {
    const line = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"_ask","params":{}}');
    const call = {
      message: scanCall(line, wantedIn({})),
      row: editorRow('_ask'),
      request: core.requests.begin('1'),
    };
    core.toAgent(child, call, { map });
    return new WeakRef(line);
  }

  const line = pass();
  await settled();
  collectGarbage();

  expect(open).toHaveLength(1);
  expect(line.deref()).toBeUndefined();
});
