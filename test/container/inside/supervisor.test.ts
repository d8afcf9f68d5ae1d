import { execFileSync, spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { platform } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { encodeHeader } from '../../../src/container/ssh/remote-command';
import { untilGone } from '../../support/processes';
import { newFolder } from '../../support/temp-folder';

const supervisor = resolve(__dirname, '../../../src/container/inside/supervisor');
const path = ['PATH', '/usr/bin:/bin'] as const;

/** How a supervised program ended, and what it said. */
interface Outcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const started: ChildProcessWithoutNullStreams[] = [];
afterEach(() => started.splice(0).forEach((program) => program.kill('SIGKILL')));

/** A supervisor that has read this header; its environment must not matter. */
function start(header: Buffer | string): ChildProcessWithoutNullStreams {
  const program = spawn('perl', [supervisor], { env: { ...process.env, SSH_CONNECTION: 'x' } });
  started.push(program);
  program.stdin.on('error', () => undefined);
  program.stdin.write(header);
  return program;
}

function startShell(script: string, ...args: readonly string[]): ChildProcessWithoutNullStreams {
  return start(encodeHeader({ argv: ['sh', '-c', script, 'sh', ...args], cwd: '/', env: [path] }));
}

async function outcome(program: ChildProcessWithoutNullStreams, input = ''): Promise<Outcome> {
  program.stdin.end(input);
  const [stdout, stderr] = await Promise.all([
    text(program.stdout),
    text(program.stderr),
    once(program, 'close'),
  ]);
  return { status: program.exitCode, stdout, stderr };
}

/** What comes on stdout behind the NUL byte that says that the supervisor is ready, up to so many words. */
async function words(program: ChildProcessWithoutNullStreams, count: number): Promise<string[]> {
  let said = '';
  program.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const found = () =>
    said
      .replace(/^[0-9]*\0/, '')
      .split(/\s+/)
      .slice(0, -1);
  while (found().length < count) await once(program.stdout, 'data');
  return found();
}

/** Root's supervisor also says who it is. */
const ready = process.getuid?.() === 0 ? (expect.stringMatching(/^[0-9]+\0$/) as string) : '\0';

function afterReady({ stdout }: Outcome): string {
  return stdout.replace(/^[0-9]*\0/, '');
}

/** It needs Linux, as the containers have it. */
const describeOnLinux = platform() === 'linux' ? describe : describe.skip;

describeOnLinux('the supervisor', () => {
  test('runs the command with exactly its arguments, folder, environment and stdin', async () => {
    const folder = newFolder();
    const argv = [
      'sh',
      '-c',
      'pwd; printf "%s|" "$@"; tr "\\0" "\\n" < /proc/$$/environ; cat',
      'sh',
    ] as const;
    const env = [path, ['MULTI', 'a=b\n c'], ['EMPTY', '']] as const;

    const end = await outcome(
      start(encodeHeader({ argv: [...argv, 'a b', "'é", '', '\n'], cwd: folder, env })),
      'in',
    );

    const [where, , ...rest] = afterReady(end).split('\n');
    expect(where).toBe(folder);
    expect(afterReady(end)).toContain(`a b|'é||\n|`);
    expect(rest.join('\n').slice(1).replace(/in$/, '').split('\n').sort()).toEqual(
      ['PATH=/usr/bin:/bin', 'MULTI=a=b', ' c', 'EMPTY=', 'SHELL=/bin/bash', ''].sort(),
    );
    expect(end).toMatchObject({ status: 0, stderr: '' });
  });

  test('takes a megabyte of arguments, and 200 variables', async () => {
    const args = Array.from({ length: 10 }, () => 'x'.repeat(100_000));
    const env = Array.from({ length: 200 }, (_, i) => [`V${i}`, 'y'.repeat(100)] as const);
    const argv = ['sh', '-c', 'echo $# ${#10}; env | grep -c ^V', 'sh', ...args] as const;

    const end = await outcome(start(encodeHeader({ argv, cwd: '/', env: [path, ...env] })));

    expect(afterReady(end)).toBe('10 100000\n200\n');
  });

  test.each([0, 1, 126, 255])('passes exit status %i on', async (status) => {
    expect(await outcome(startShell(`exit ${status}`))).toEqual({ status, stdout: ready, stderr: '' });
  });

  test.each([
    ['TERM', 143],
    ['KILL', 137],
    ['SEGV', 139],
  ])('gives 128 + N for SIG%s', async (name, status) => {
    expect(await outcome(startShell(`kill -${name} $$`))).toEqual({ status, stdout: ready, stderr: '' });
  });

  test.each([
    ['a program that is nowhere', ['nowhere'], '/', 127, /^cai: nowhere: command not found: install/],
    ['a path that is nowhere', ['/no\nwhere'], '/', 127, /^cai: \/no\\x0awhere: command not found: install/],
    [
      'a file that is no program',
      ['/etc/passwd'],
      '/',
      126,
      /^cai: \/etc\/passwd: Permission denied: make it/,
    ],
    ['a folder that is nowhere', ['true'], '/nowhere', 126, /^cai: cannot enter \/nowhere: .*: choose/],
    ['an argument that is too long', ['true', 'x'.repeat(200_000)], '/', 126, /^cai: true: .*: pass less/],
  ] as const)('says what to do about %s', async (_, argv, cwd, status, message) => {
    const end = await outcome(start(encodeHeader({ argv, cwd, env: [path] })));

    expect(end).toMatchObject({ status, stdout: ready, stderr: expect.stringMatching(message) as string });
    expect(end.stderr.trimEnd()).not.toContain('\n');
  });

  test('names a missing interpreter', async () => {
    const script = join(newFolder(), 'script');
    writeFileSync(script, '#!/nowhere\n');
    chmodSync(script, 0o755);

    const end = await outcome(start(encodeHeader({ argv: [script], cwd: '/', env: [] })));

    expect(end).toMatchObject({ status: 126, stderr: expect.stringContaining('its interpreter') as string });
  });

  test.each([
    ...['x', '\n', '12x\n', '999999999\n', '5\n/\x001\0', '4\n/\x009\0'],
    ...['9\n/\x001\0true', '11\n/\x001\0true\0x\0'],
  ])('refuses the header %j', async (header) => {
    const end = await outcome(start(header));

    expect(end).toMatchObject({ status: 125, stdout: '' });
    expect(['', 'cai: the header is malformed\n']).toContain(end.stderr);
  });

  test('goes on when stdin has ended', async () => {
    const end = await outcome(startShell('cat; sleep 0.1; echo done'), 'input ');

    expect(afterReady(end)).toBe('input done\n');
  });

  test.each(['TERM', 'INT', 'HUP', 'QUIT', 'USR1', 'USR2'] as const)(
    'passes SIG%s on to all of the command',
    async (name) => {
      const inner = `trap 'echo inner; exit 0' ${name}; echo up; sleep 60 & wait`;
      const program = startShell(`trap 'echo outer; exit 7' ${name}; sh -c "${inner}"`);
      await words(program, 1);
      const closed = once(program, 'close');

      program.kill(`SIG${name}`);

      expect(await words(program, 2)).toEqual(['inner', 'outer']);
      await closed;
      expect(program.exitCode).toBe(7);
    },
  );

  /** Says the pids of a plain child, one in a session of its own, and one whose parents are all dead. */
  const spread = (child: string) =>
    `${child} & echo $!; setsid sh -c 'echo $$; exec "$@"' sh ${child} & sh -c 'setsid sh -c "echo \\$\\$; exec ${child}" & ' ;`;

  test('ends what the command has left, wherever it went, and no sooner gives the status', async () => {
    const program = startShell(`${spread('sleep 60')} cat; exit 4`);
    const pids = await words(program, 3);

    program.stdin.end();
    await once(program, 'exit');

    expect(program.exitCode).toBe(4);
    await untilGone(...pids.map(Number));
  });

  test('kills what does not heed TERM, also what is stopped', async () => {
    // Longer than a test may take.
    const stopped = 'sleep 600 & kill -STOP $!; echo $!;';
    const program = startShell(`trap '' TERM; ${stopped} ${spread('sleep 600')} cat; exit 4`);
    const pids = await words(program, 4);

    program.stdin.end();
    await once(program, 'exit');

    expect(program.exitCode).toBe(4);
    await untilGone(...pids.map(Number));
  });

  test('ends everything when its session is gone', async () => {
    // The shell stands for the process of sshd.
    const session = spawn('sh', ['-c', 'perl "$0"; :', supervisor]);
    started.push(session);
    const script = `echo $$; ${spread('sleep 60')} sleep 60`;
    session.stdin.write(encodeHeader({ argv: ['sh', '-c', script], cwd: '/', env: [path] }));
    const pids = await words(session, 4);

    session.kill('SIGKILL');

    await untilGone(...pids.map(Number));
  });

  test('ends what starts others while it is being ended', async () => {
    // Six seconds long and no longer, for the sake of the machine on which this fails.
    const many = 'trap "" TERM; while [ $((i = i + 1)) -lt 600 ]; do sleep 20 & sleep 0.01; done';
    const program = startShell(`sh -c '${many}' & setsid sh -c '${many}' & echo up; cat; exit 5`);
    await words(program, 1);

    program.stdin.end();
    await once(program, 'exit');

    expect(program.exitCode).toBe(5);
    expect(commandsIn(program.pid!)).toEqual([]);
  });

  test('holds none of the streams of the command open', async () => {
    const program = startShell('exec >&- 2>&-; cat; exit 6');
    await once(program.stdout.resume(), 'end');
    await once(program.stderr.resume(), 'end');

    program.stdin.end();
    await once(program, 'exit');

    expect(program.exitCode).toBe(6);
  });
});

/** Command lines of processes in the session of which this was the leader, or a member. */
function commandsIn(session: number): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
        const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        return fields[0] !== 'Z' && Number(fields[3]) === session
          ? [readFileSync(`/proc/${pid}/cmdline`, 'utf8')]
          : [];
      } catch {
        // It has ended since.
        return [];
      }
    });
}

describe('files for the command', () => {
  const placeholder = (signIn: string) => `sk-caiplaceholderaccessx${signIn}x0`;
  const [now, before] = [placeholder('0123456789ab'), placeholder('ffffffffffff')];

  /** What is in a file that should have `wanted`, after a command has found it. */
  async function found(there: string | undefined, wanted: string): Promise<string> {
    const home = newFolder();
    if (there !== undefined) writeFileSync(join(home, 'a'), there);
    const env = [path, ['HOME', home]] as const;
    const header = encodeHeader({ argv: ['cat', 'a'], cwd: home, env, files: { a: wanted } });
    const end = await outcome(start(header));
    expect(readdirSync(home)).toEqual(['a']);
    return afterReady(end);
  }

  test.each([
    ['is made', undefined, now, now],
    ['takes the place of one with tokens of an earlier sign-in', before, now, now],
    ['stays where it has tokens of the same sign-in', `${now} and more`, now, `${now} and more`],
    ['stays where the agent has made it', 'real', now, 'real'],
    ['takes the place of an empty one', '', now, now],
    ['stays where nothing in it is a token', before, 'settings', before],
  ])('is one that %s', async (_, there, wanted, expected) => {
    expect(await found(there, wanted)).toBe(expected);
  });

  test.each([
    ['goes with the sign-in', before, []],
    ['stays where the agent has made it', 'real', ['a']],
    ['is not made', undefined, []],
  ])('without a text are such that one %s', async (_, there, expected) => {
    const home = newFolder();
    if (there !== undefined) writeFileSync(join(home, 'a'), there);
    const env = [path, ['HOME', home]] as const;

    await outcome(start(encodeHeader({ argv: ['true'], cwd: home, env, files: { a: '' } })));

    expect(readdirSync(home)).toEqual(expected);
  });

  test.each([
    ['a pipe that nobody writes to', 'mkfifo a'],
    ['a link to one', 'mkfifo b; ln -s b a'],
    ['a file without an end', 'ln -s /dev/zero a'],
    ['a file that is very long', `printf %s '${before}' > a; truncate -s 400G a`],
    ['a folder', 'mkdir a'],
    ['a link to itself', 'ln -s a a'],
    ['a file that only others can read', `printf %s '${before}' > a; chmod 0 a`],
  ])('do not keep the command from running where there is %s', async (_, make) => {
    const home = newFolder();
    execFileSync('sh', ['-c', make], { cwd: home });
    const env = [path, ['HOME', home]] as const;
    const header = encodeHeader({ argv: ['echo', 'ran'], cwd: '/', env, files: { a: now } });

    expect(afterReady(await outcome(start(header)))).toBe('ran\n');
  });

  test('are for the user alone, in a folder that is made, and no variables', async () => {
    const home = newFolder();
    const header = encodeHeader({
      argv: ['sh', '-c', 'stat -c %a .a .a/b; env | grep -c CAI_FILE'],
      cwd: home,
      env: [path, ['HOME', home]],
      files: { '.a/b': 'x=y\nz\u00e9' },
    });

    expect(afterReady(await outcome(start(header)))).toBe('700\n600\n0\n');
    expect(readFileSync(join(home, '.a/b'), 'utf8')).toBe('x=y\nz\u00e9');
  });

  test('that cannot be made are told, and the command runs', async () => {
    const header = encodeHeader({
      argv: ['echo', 'ran'],
      cwd: '/',
      env: [path, ['HOME', '/proc']],
      files: { 'no/a': 'x' },
    });

    const { stdout, stderr } = await outcome(start(header));

    expect(stdout).toContain('ran');
    expect(stderr).toMatch(/^cai: \/proc\/no\/a cannot be written: /);
  });
});
