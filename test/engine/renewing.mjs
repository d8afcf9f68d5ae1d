/** A reporter of jest: after a test file that failed, an engine that hangs is replaced, if `machine.sh` has started it. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

export default class {
  onTestFileResult(_, { numFailingTests, testExecError }) {
    if (process.env.CAI_TEST_STATE === undefined || (numFailingTests === 0 && !testExecError)) return;
    const machine = join(import.meta.dirname, 'machine.sh');
    spawnSync(machine, ['renew'], { stdio: ['ignore', 'inherit', 'inherit'] });
  }
}
