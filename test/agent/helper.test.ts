import { tmpdir } from 'node:os';
import { Helper } from '../../src/agent/helper';
import type { HelperOptions } from '../../src/agent/helper';
import { noLog } from './agent-run';

const started: Helper[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((helper) => helper.stop()));
});

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
      onFailure: ({ message }) => failures.push(message),
    });

    await helper.ended;

    expect({ lines, isSettled: helper.isSettled, isOver: helper.isOver }).toEqual({
      lines: ['a', 'b'],
      isSettled: true,
      isOver: true,
    });
    expect(failures).toEqual([expect.stringContaining('it failed')]);
  });

  test('fails in silence when it has told why, or was stopped', async () => {
    const failures: string[] = [];
    const onFailure = ({ message }: Error) => void failures.push(message);
    const told = start('echo \'{"kind":"notice","text":"no"}\' >&3; exit 3', { onFailure });
    const stopped = start('cat; exit 3', { onFailure });

    await stopped.stop();
    await told.ended;

    expect(failures).toEqual([]);
  });
});
