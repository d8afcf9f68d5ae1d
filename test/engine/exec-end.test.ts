import { Place, buildTimeoutMs } from './place';
import { ownFile } from './support';

let place: Place;

beforeAll(async () => (place = await new Place().opened()), buildTimeoutMs);

const signals = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGTERM'] as const;

describe('a signal', () => {
  test('of every kind reaches the command', async () => {
    const script = `for my $name (qw(HUP INT QUIT USR1 USR2 TERM)) { $SIG{$name} = sub { syswrite STDOUT, "got $name "; exit 40 if $name eq "TERM" } } syswrite STDOUT, "ready "; sleep 1000 while 1`;
    const program = place.start(['perl', '-e', script]);
    await program.says('ready');

    for (const signal of signals) {
      program.child.kill(signal);
      await program.says(`got ${signal.slice('SIG'.length)}`);
    }

    const { status, stdout, stderr } = await program.ends();
    const said = 'ready got HUP got INT got QUIT got USR1 got USR2 got TERM ';
    expect({ status, stdout: stdout.toString(), stderr }).toEqual({ status: 40, stdout: said, stderr: '' });
  });

  // supervisor.test.ts has the status of each.
  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s that the command dies of gives 128 and its number', async (signal, status) => {
    const program = place.start(['sh', '-c', 'echo ready; exec sleep 1000']);
    await program.says('ready');

    program.child.kill(signal);

    expect(await program.ends()).toMatchObject({ status, signal: null, stderr: '' });
  });

  test('reaches the command though stdin has ended', async () => {
    const program = place.start(['sh', '-c', 'cat; echo ready; exec sleep 1000']);
    program.child.stdin.end();
    await program.says('ready');

    program.child.kill('SIGTERM');

    expect(await program.ends()).toMatchObject({ status: 143 });
  });

  test('reaches the children of the command', async () => {
    const program = place.start(['bash', '-c', 'sh -c \'trap "echo child; exit 5" INT; echo ready; sleep 1000 & wait\'']); // prettier-ignore
    await program.says('ready');

    program.child.kill('SIGINT');

    expect((await program.ends()).stdout.toString()).toBe('ready\nchild\n');
  });

  test('that is ignored ends the command when it is repeated', async () => {
    const ignores =
      '$SIG{TERM} = sub { syswrite STDOUT, "no " }; syswrite STDOUT, "$$ ready "; sleep 1 while 1';
    const program = place.start(['perl', '-e', ignores]);
    await program.says('ready');

    program.child.kill('SIGTERM');
    await program.says('no');
    program.child.kill('SIGTERM');

    expect(await program.ends()).toMatchObject({ status: 143 });
    const pid = program.stdout.toString().split(' ', 1).join();
    await place.prints(['sh', '-c', `while kill -0 ${pid} 2>/dev/null; do sleep 0.05; done`]);
  });

  test('that the command sends itself gives 128 and its number, too', async () => {
    expect(await place.run(['sh', '-c', 'kill -KILL $$'])).toMatchObject({ status: 137 });
  });
});

describe('a command that cannot be run', () => {
  test('ends with 127 if it is not found', async () => {
    expect(await place.run(['no-such-command', 'x'])).toMatchObject({
      status: 127,
      stderr: 'cai: no-such-command: command not found: install it in the image, or give its path\n',
    });
  });

  test('ends with 126 if it is no program', async () => {
    ownFile(`${place.workspace}/text`, 'text\n');

    expect(await place.run(['./text'])).toMatchObject({
      status: 126,
      stderr: 'cai: ./text: Permission denied: make it executable (chmod +x), or choose another command\n',
    });
  });
});
