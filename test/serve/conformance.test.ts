/**
 * The conformance suite over `cai serve`: over HTTP, and through `cai connect`, which is over WebSocket. What cannot
 * differ from stdio, where `test/conformance/` has it, is left out. `npm run conformance` has all of it over each way.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { patienceMs } from '../support/patience';

const suite = join(__dirname, '../conformance/run.mjs');
/** The suite takes a minute or two, and others may use the machine. */
const limitMs = 10 * patienceMs;

test.each(['http', 'connect'])(
  'the statements about the protocol hold over %s',
  (way) => {
    const { status, stdout } = spawnSync(process.execPath, [suite, '--brief', '--over', way], {
      encoding: 'utf8',
    });

    expect(stdout.split('\n').filter((line) => / FAILS | NO TEST |^red /.test(line))).toEqual([]);
    expect(status).toBe(0);
  },
  limitMs,
);
