import { readFileSync, readlinkSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { Place, buildTimeoutMs } from './place';
import type { Running } from './running';
import { folder } from './support';

let place: Place;

beforeAll(async () => (place = await new Place().opened()), buildTimeoutMs);

/** `cai` in a terminal of 91 columns and 33 lines. */
function inTerminal(args: readonly string[]): Running {
  const words = [process.execPath, join(folder, 'package/bin/cai'), ...args];
  const quoted = words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
  const line = `stty rows 33 cols 91; exec ${quoted}`;
  return place.cai.startProgram('script', ['-qec', line, '/dev/null'], { env: { TERM: 'xterm-256color' } });
}

/** The terminal of the program that `script` runs. */
function terminalOf({ pid }: Running): string {
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
  return readlinkSync(`/proc/${child}/fd/0`);
}

function environmentIn(name: string): Map<string, string> {
  const text = readFileSync(join(place.workspace, name), 'utf8');
  const pairs = text.split('\0').filter((each) => each !== '');
  return new Map(pairs.map((each) => [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)]));
}

describe('exec -t', () => {
  test('gives the command a terminal of the size that ours has', async () => {
    const ask = 'test -t 0 && test -t 1 && test -t 2 && stty size && echo $TERM; exit 7';

    const { status, stdout } = await inTerminal(place.args(['sh', '-c', ask], ['-t'])).ends();

    expect({ status, stdout: stdout.toString() }).toEqual({
      status: 7,
      stdout: '33 91\r\nxterm-256color\r\n',
    });
  });

  test('changes nothing of what the command says', async () => {
    // As full-screen programs do: a line feed is to move down, and not to the left.
    const { stdout } = await inTerminal(
      place.args(['sh', '-c', 'stty raw; printf "a\nb\r\n\tc"'], ['-t']),
    ).ends();

    expect(stdout.toString()).toBe('a\nb\r\n\tc');
  });

  test('tells the command a new size', async () => {
    const wait = 'trap "stty size; exit 8" WINCH; echo ready; while :; do sleep 0.1; done';
    const program = inTerminal(place.args(['sh', '-c', wait], ['-t']));
    await program.says('ready');

    execFileSync('stty', ['-F', terminalOf(program), 'rows', '40', 'cols', '100']);

    const { status, stdout } = await program.ends();
    expect({ status, stdout: stdout.toString() }).toEqual({ status: 8, stdout: 'ready\r\n40 100\r\n' });
  });

  test('passes keys on: Ctrl-C and Ctrl-D do there what they do here', async () => {
    const script = 'trap "caught=yes; echo caught" INT; echo ready; until test -n "$caught"; do sleep 0.1; done; cat; exit 9'; // prettier-ignore
    const program = inTerminal(place.args(['sh', '-c', script], ['-t']));
    await program.says('ready');

    program.child.stdin.write('\x03');
    await program.says('caught');
    program.child.stdin.write('line\r');
    await program.says('line\r\nline\r\n');
    program.child.stdin.write('\x04');

    expect((await program.ends()).status).toBe(9);
  });

  test('leaves the terminal as it was', async () => {
    const args = place.args(['true'], ['-t']).map((word) => `'${word}'`);
    const line = `stty -g; '${process.execPath}' '${join(folder, 'package/bin/cai')}' ${args.join(' ')}; stty -g`;

    const { stdout } = await place.cai.startProgram('script', ['-qec', line, '/dev/null']).succeeds();

    const [before, after] = stdout.toString().trim().split('\r\n');
    expect(before).toMatch(/^[0-9a-f:]+$/);
    expect(after).toBe(before);
  });
});

describe('the environment', () => {
  test('is the same with a terminal, and in a shell', async () => {
    await place.prints(['sh', '-c', 'env -0 > plain']);
    await inTerminal(place.args(['sh', '-c', 'env -0 > terminal'], ['-t'])).succeeds();
    const shell = inTerminal(['shell', '--quiet', '--workspace', place.workspace]);
    shell.child.stdin.write('env -0 > shell; exit 6\r');
    expect((await shell.ends()).status).toBe(6);

    const [plain, terminal, inShell] = ['plain', 'terminal', 'shell'].map(environmentIn);
    // What a shell adds, and what a terminal is called.
    for (const each of [plain, terminal, inShell]) {
      // Each command has a proxy of its own.
      const { port } = new URL(each!.get('http_proxy')!);
      for (const [name, value] of each!) each!.set(name, value.replaceAll(port, 'PORT'));
      for (const name of ['_', 'SHLVL', 'PWD', 'OLDPWD', 'TERM', 'COLORTERM', 'LINES', 'COLUMNS'])
        each!.delete(name);
    }
    expect(terminal).toEqual(plain);
    expect(inShell).toEqual(plain);
  });
});

describe('what the agent puts into its home folder', () => {
  test('neither says nor sets anything where a command is run', async () => {
    const files =
      '.bashrc .bash_profile .bash_login .profile .zshenv .ssh/rc .ssh/environment .pam_environment';
    const install = `mkdir -p ~/.ssh; for each in ${files}; do printf 'export LEAK=1\nLEAK=1\necho leaked\n' > ~/$each; done`;
    await place.prints(['sh', '-c', install]);
    // They are where they would be found.
    expect(await place.prints(['bash', '-lc', 'echo $LEAK'])).toBe('leaked\n1');

    const { status, stdout, stderr } = await place.run(['sh', '-c', 'echo "[$LEAK]"']);

    expect({ status, stdout: stdout.toString(), stderr }).toEqual({ status: 0, stdout: '[]\n', stderr: '' });
    await place.prints(['sh', '-c', `cd; rm -r ${files}`]);
  });
});
