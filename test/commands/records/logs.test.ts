import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { mkdirSync, realpathSync, renameSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LogFile } from '../../../src/system/log-file';
import { cai, runInTerminal, userWith } from '../../support/cli';
import { runHere } from '../../support/cli-here';
import { World } from '../../support/world';

/** A user for whom processes have logged; `log` writes a line of one. */
function userWithLogs(): {
  options: ReturnType<typeof userWith>;
  log: (pid: number, agent: string, fields: object) => void;
} {
  const options = userWith('');
  const folder = join(options.env!.HOME!, '.local/state/containai/logs');
  mkdirSync(folder, { recursive: true });
  const files = new Map<number, LogFile>();
  const log = (pid: number, agent: string, fields: object): void => {
    const file = files.get(pid) ?? new LogFile(folder, { pid, agent, version: '1' }, () => false);
    files.set(pid, file);
    file.write(`${JSON.stringify({ level: 40, time: '2026-01-01T00:00:00.000Z', ...fields })}\n`);
  };
  return { options, log };
}

describe('cai logs', () => {
  test('shows what all processes have logged, by time, and who they are', async () => {
    const { options, log } = userWithLogs();
    log(1, 'claude', { time: '2999-01-01T00:00:02.000Z', msg: 'third', root: '/w\u001b' });
    log(2, 'gemini', { time: '2999-01-01T00:00:01.000Z', level: 30, msg: 'second\nline' });
    log(1, 'claude', { time: '2999-01-01T00:00:03.000Z', level: 50, msg: 'fourth' });

    const { status, stdout, stderr } = await runHere(['logs', '-n', '3'], options);

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toBe(
      '2999-01-01T00:00:01.000Z info gemini[2] second line\n' +
        '2999-01-01T00:00:02.000Z warn claude[1] third root="/w\\u001b"\n' +
        '2999-01-01T00:00:03.000Z error claude[1] fourth\n',
    );
  });

  test('shows times of the clock of this machine on a terminal', async () => {
    const { options, log } = userWithLogs();
    log(1, 'claude', { time: '2999-01-01T00:00:01.000Z', msg: 'new year' });

    const { stdout } = await runInTerminal(['logs'], {
      ...options,
      env: { ...options.env, TZ: 'Asia/Tokyo' },
    });

    expect(stdout).toContain('2999-01-01 09:00:01 warn claude[1] new year\r\n');
  });

  test.each([
    [['--agent', 'gemini'], ['b']],
    [
      ['--workspace', '/w'],
      ['a', 'b'],
    ],
    [['--agent', 'claude', '-w', '/w'], ['a']],
  ])('shows with %j only that', async (args, expected) => {
    const { options, log } = userWithLogs();
    log(1, 'claude', { time: '2999-01-01T00:00:01.000Z', msg: 'a', root: '/w' });
    log(2, 'gemini', { time: '2999-01-01T00:00:02.000Z', msg: 'b' });
    log(1, 'claude', { time: '2999-01-01T00:00:03.000Z', msg: 'c', root: '/v' });

    const { stdout } = await runHere(['logs', '--json', ...args], options);

    const entries = stdout.trimEnd().split('\n');
    const messages = entries.map((line) => (JSON.parse(line) as { msg: string }).msg);
    expect(messages.filter((message) => !message.startsWith('cai '))).toEqual(expected);
  });

  test('escapes in JSON what could steer the terminal or hide text', async () => {
    const { options, log } = userWithLogs();
    const msg = 'a\u009b\u202eb';
    log(1, 'claude', { msg });

    const { stdout } = await runHere(['logs', '--json'], options);

    expect(stdout).not.toContain(msg);
    expect(stdout).toContain('"a\\u009b\\u202eb"');
  });

  test('says so when there is nothing', async () => {
    expect(await runHere(['logs'], userWith(''))).toEqual({
      status: 0,
      stdout: '',
      stderr: 'cai: nothing is logged\n',
    });
  });

  test('says that there is something else where nothing is of that agent', async () => {
    const { options, log } = userWithLogs();
    log(1, 'claude', { msg: 'first' });

    expect(await runHere(['logs', '-a', 'nope'], options)).toEqual({
      status: 0,
      stdout: '',
      stderr: 'cai: no line of the log matches: "cai logs" shows all\n',
    });
  });

  test.each(['x', '0', '-5', '1.5', '', '2x'])('refuses "%s" for a number of lines', async (lines) => {
    const { status, stderr } = await runHere(['logs', `--lines=${lines}`], userWith(''));

    expect(status).toBe(2);
    expect(stderr).toBe(`cai: --lines: "${lines}" is not a whole number of at least 1\n`);
  });

  test('does not take what cannot be read for nothing', async () => {
    const { options } = userWithLogs();
    const folder = join(options.env!.HOME!, '.local/state/containai/logs');
    rmdirSync(folder);
    writeFileSync(folder, '');

    const { status, stderr } = await runHere(['logs'], options);

    expect(status).toBe(2);
    expect(stderr).toMatch(/^cai: .*\/logs cannot be read: not a directory: make .*\n$/);
  });

  test('takes any folder of a workspace for it', async () => {
    const { options, log } = userWithLogs();
    const cwd = realpathSync(options.cwd!);
    const root = join(cwd, 'project');
    mkdirSync(join(root, '.containai'), { recursive: true });
    mkdirSync(join(root, 'sub'));
    writeFileSync(join(root, '.containai/config.toml'), '');
    log(1, 'claude', { msg: 'wanted', root });
    log(1, 'claude', { msg: 'other', root: cwd });

    const { stdout } = await runHere(['logs', '-w', 'project/sub'], { ...options, cwd });

    expect(stdout).toContain('wanted');
    expect(stdout).not.toContain('other');
  });

  describe('with -f', () => {
    let following: ChildProcessWithoutNullStreams;
    let shown: string;
    afterEach(() => following.kill());

    function follow(options: ReturnType<typeof userWith>): void {
      following = spawn(process.execPath, [cai, 'logs', '-f'], { env: { ...process.env, ...options.env } });
      shown = '';
      following.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text));
    }

    async function sees(text: string): Promise<void> {
      while (!shown.includes(text)) await new Promise((resolve) => following.stdout.once('data', resolve));
    }

    test('follows what is logged from then on, by new processes too', async () => {
      const { options, log } = userWithLogs();
      log(1, 'claude', { msg: 'first' });
      follow(options);

      await sees('first');
      log(1, 'claude', { msg: 'second' });
      await sees('second');
      log(2, 'gemini', { msg: 'third' });
      await sees('gemini[2] third');

      expect(shown.match(/second/g)).toHaveLength(1);
    });

    test('goes on in every further half of a log', async () => {
      const { options, log } = userWithLogs();
      const fill = (): void => log(1, 'claude', { msg: `filled ${'x'.repeat(600_000)}` });
      const words = ['first', 'second', 'third', 'fourth'];
      follow(options);

      for (const msg of words) {
        log(1, 'claude', { msg });
        await sees(` ${msg}\n`);
        fill();
      }

      for (const msg of words) expect(shown.split(` ${msg}\n`)).toHaveLength(2);
    });

    test('reads from its beginning a file that has got the place of another on the disk', async () => {
      const { options } = userWithLogs();
      const folder = join(options.env!.HOME!, '.local/state/containai/logs');
      const [one, two] = ['20260101T000000.000Z-1.log', '20260101T000001.000Z-2.log'];
      const line = (msg: string): string => `{"level":30,"time":"2026-01-01T00:00:00.000Z","msg":"${msg}"}\n`;
      writeFileSync(join(folder, one), line('first') + line('second'));
      follow(options);
      await sees('second');

      renameSync(join(folder, one), join(folder, two));
      writeFileSync(join(folder, two), ['third', 'fourth', 'fifth'].map(line).join(''));

      await sees('fifth');
      expect(shown).toMatch(/third\n.*fourth\n/);
    });
  });
});

describe('cai --acp', () => {
  let world: World;
  afterEach(() => world.end());

  test('keeps a log that cai logs shows, without a word on stderr', async () => {
    world = await World.initialized();
    await world.session(world.workspace('own'), 's1');

    const { stdout } = await runHere(['logs'], { env: { HOME: join(world.folder, 'home') } });

    expect(stdout).toMatch(/info puppet\[\d+\] agent started root=/);
    expect(await world.lastWords()).toBe('');
  });

  test('keeps none at level silent', async () => {
    world = await World.initialized({ env: { CAI_LOG_LEVEL: 'silent' } });
    await world.session(world.workspace('own'), 's1');

    const { stderr } = await runHere(['logs'], { env: { HOME: join(world.folder, 'home') } });

    expect(stderr).toBe('cai: nothing is logged\n');
  });
});
