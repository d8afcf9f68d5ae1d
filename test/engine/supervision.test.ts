import { once } from 'node:events';
import { watch } from 'node:fs';
import { measured, processesIn, untilEnded, untilOnly, untilRuns, type InnerProcess } from './inside';
import { buildTimeoutMs, Place } from './place';
import type { Running } from './running';

/** Within this time nothing may be left of a command whose connection is closed, or has fallen silent. */
const [closedLimitMs, silentLimitMs] = [10_000, 30_000];

/** Heeds no TERM, and neither do its children: one in a session of its own, and one that nobody waits for. */
const stubborn = `trap '' TERM HUP INT
setsid sh -c 'trap "" TERM HUP; sleep 601' &
(sh -c 'trap "" TERM HUP; sleep 602' &)
sleep 603`;

let place: Place;
let container: string;
let before: readonly InnerProcess[];

beforeAll(async () => {
  place = await new Place().opened();
  container = await place.inspect('{{.Name}}').then((name) => name.slice(1));
}, buildTimeoutMs);

/** Starts a command, and returns when these run. */
async function startUntil(command: readonly string[], ...running: string[]): Promise<Running> {
  await settled();
  const program = place.start(command);
  for (const each of running) await untilRuns(container, each);
  return program;
}

/** Notes what the container has when no command runs in it. */
async function settled(): Promise<void> {
  await place.prints(['true']);
  const isOurs = ({ command }: InnerProcess) =>
    /docker-init|podman-init|catatonit|keeper|\[listener\]/.test(command);
  before = (await processesIn(container)).filter(isOurs);
  await untilOnly(container, before, closedLimitMs);
}

/**
 * Starts a command that prepares something, and kills its supervisor when that runs. Returns when it has: only then,
 * because what is left is ended within a second, seen or not.
 */
async function startAndKillSupervisor(prepare: string, running: string, kill = ''): Promise<Running> {
  const command = `${prepare}; read go; ${kill} kill -9 $PPID; exec sleep 605`;
  const supervisor = '/usr/bin/perl /run/cai/supervisor';
  const program = await startUntil(['sh', '-c', command], running, supervisor);
  program.child.stdin.write('go\n');
  await untilEnded(container, supervisor);
  return program;
}

async function expectNothingLeft(what: string, limitMs: number): Promise<void> {
  const { tookMs } = await measured(what, () => untilOnly(container, before, limitMs + 5_000));
  expect(tookMs).toBeLessThan(limitMs);
}

describe('a command that heeds no signal, with children that ran away, is ended', () => {
  const names = ['sleep 601', 'sleep 602', 'sleep 603'];

  test('when cai exec is killed', async () => {
    const program = await startUntil(['sh', '-c', stubborn], ...names);

    program.child.kill('SIGKILL');

    await expectNothingLeft('cai exec killed', closedLimitMs);
  });

  test('when cai exec is frozen', async () => {
    const program = await startUntil(['sh', '-c', stubborn], ...names);

    program.child.kill('SIGSTOP');

    await expectNothingLeft('cai exec frozen', silentLimitMs);
    program.child.kill('SIGKILL');
  });

  test('when it has exited and left them behind', async () => {
    await settled();
    const { status } = await place.run(['sh', '-c', stubborn.replace('sleep 603', 'exit 7')]);

    expect(status).toBe(7);
    await expectNothingLeft('command exited', closedLimitMs);
  });
});

describe('a command that works against its end is ended', () => {
  test('when it has killed its supervisor', async () => {
    const program = await startAndKillSupervisor('(setsid sleep 604 &)', 'sleep 604');

    program.child.kill('SIGKILL');

    await expectNothingLeft('supervisor killed', closedLimitMs);
  });

  test('when it has stopped its session', async () => {
    const stop =
      'session=$(ps -o ppid= -p $PPID); kill -STOP $session $(ps -o ppid= -p $session); exec sleep 606';
    const program = await startUntil(['sh', '-c', stop], 'sleep 606');

    program.child.kill('SIGKILL');

    await expectNothingLeft('session stopped', closedLimitMs);
  });

  test('when it has tried to stop what keeps the container', async () => {
    const program = await startAndKillSupervisor(
      '(setsid sleep 609 &)',
      'sleep 609',
      'kill -STOP 1; kill -KILL 1;',
    );

    program.child.kill('SIGKILL');

    await expectNothingLeft('keeper stopped', closedLimitMs);
  });

  test('when it has traced whatever it may', async () => {
    const trace = `
import ctypes, os, time
libc = ctypes.CDLL(None, use_errno=True)
for pid in (int(name) for name in os.listdir('/proc') if name.isdigit()):
    if pid != os.getpid():
        libc.ptrace(0x4206, pid, 0, 0)
        libc.ptrace(0x4207, pid, 0, 0)
open('traced', 'w').close()
os.execvp('sleep', ['sleep', '611'])`;
    // It may be ended before anybody sees it in the container.
    const traced = once(watch(place.workspace, { persistent: false }), 'change');
    const program = await startUntil(['python3', '-c', trace]);
    await traced;

    program.child.kill('SIGKILL');

    await expectNothingLeft('session traced', closedLimitMs);
  });

  test('when it has a child that calls itself a supervisor', async () => {
    // exec keeps the name that prctl has set only for a script; this one is named so by its file.
    const fake = 'cp /bin/sleep /tmp/supervisor; (setsid /tmp/supervisor 607 &)';
    const program = await startAndKillSupervisor(fake, '/tmp/supervisor 607');

    program.child.kill('SIGKILL');

    await expectNothingLeft('a false supervisor', closedLimitMs);
  });
});
