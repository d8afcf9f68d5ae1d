import { tmpdir } from 'node:os';
import { Helper, type HelperOptions } from '../../../src/acp/mcp/helper';
import { noLog } from '../../agent/agent-run';

const started: Helper[] = [];
afterEach(async () => await Promise.all(started.splice(0).map((helper) => helper.stop())));

/** A helper that runs a script of `sh`. */
function start(script: string, more: Partial<HelperOptions> = {}): Helper {
  const command = ['sh', '-c', script] as const;
  const helper = new Helper({ command: [...command], cwd: tmpdir(), env: process.env, log: noLog, ...more });
  started.push(helper);
  return helper;
}

describe('a helper', () => {
  test('is settled once it says that it has started, and reads its input first', async () => {
    const helper = start('read line; [ "$line" = go ] && echo \'{"kind":"started"}\' >&3; cat', {
      input: 'go',
    });

    await helper.settled;

    expect({ isSettled: helper.isSettled, isOver: helper.isOver }).toEqual({
      isSettled: true,
      isOver: false,
    });
  });

  test('is settled once it says what is wrong, and not by what only takes long', async () => {
    const notices: string[] = [];
    const delay = '{"kind":"delay","text":"soon"}';
    const notice = '{"kind":"notice","text":"no"}';
    const helper = start(`echo '${delay}' >&3; echo '${notice}' >&3; cat`, {
      onNotice: (text) => notices.push(text),
    });

    await helper.settled;

    expect(notices).toEqual(['no']);
  });

  test('passes its lines on, and tells a failure of which it has said nothing', async () => {
    const lines: string[] = [];
    const failures: string[] = [];
    const helper = start('echo a; echo b; echo "cai: it failed" >&2; exit 3', {
      onLine: (line) => lines.push(line),
      onFailure: ({ message }, hasTold) => void failures.push(message, String(hasTold)),
    });

    await helper.ended;

    expect({ lines, isSettled: helper.isSettled, isOver: helper.isOver }).toEqual({
      lines: ['a', 'b'],
      isSettled: true,
      isOver: true,
    });
    expect(failures).toEqual([expect.stringContaining('it failed'), 'false']);
  });

  test('says that it has told why it failed, and fails in silence when it was stopped', async () => {
    const told: boolean[] = [];
    const onFailure = (_: Error, hasTold: boolean): void => void told.push(hasTold);
    const failing = start('echo \'{"kind":"notice","text":"no"}\' >&3; exit 3', { onFailure });
    const stopped = start('cat; exit 3', { onFailure });

    await stopped.stop();
    await failing.ended;

    expect(told).toEqual([true]);
  });

  test('is started again, with its input, as often as is wanted', async () => {
    const lines: string[] = [];
    let again = 2;
    const helper = start('read line; echo "$line"; exit 3', {
      input: 'go',
      onLine: (line) => lines.push(line),
      attempts: { delayMs: 0, failed: (reason) => (again-- > 0 ? undefined : reason) },
    });

    await helper.ended;

    expect(lines).toEqual(['go', 'go', 'go']);
  });

  test('is not started again once it is stopped', async () => {
    const lines: string[] = [];
    const attempts = { delayMs: 0, failed: (): undefined => undefined };
    const waits = new Promise<void>((resolve) => {
      attempts.failed = () => {
        attempts.delayMs = 60_000;
        resolve();
      };
    });
    const helper = start('echo a; exit 3', { onLine: (line) => lines.push(line), attempts });
    await waits;
    expect(helper.isOver).toBe(false);

    await helper.stop();
    await helper.ended;

    expect({ lines, isOver: helper.isOver, isSettled: helper.isSettled }).toEqual({
      lines: ['a'],
      isOver: true,
      isSettled: true,
    });
  });
});
