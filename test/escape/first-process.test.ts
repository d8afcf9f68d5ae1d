/** Attacks on what the agent shares with others: the container's first process, and what the kernel counts for the user. */
import { readFileSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { resolve } from 'node:path';
import { isKubernetes } from '../engine/engines';
import { Place, buildTimeoutMs } from '../engine/place';
import type { Running } from '../engine/running';
import { docker } from '../engine/support';
import { attempt, attemptWith, reachedIf } from './attempt';

const signals = readFileSync(resolve(__dirname, '../../fixtures/attacks/signals.pl'), 'utf8');

const counted = readFileSync(resolve(__dirname, '../../fixtures/attacks/counted.py'), 'utf8');

/** What has more than its share is ended within some seconds; so long it is waited for, in milliseconds. */
const endedMs = 30_000;

let place: Place;
let began: string;

beforeAll(async () => {
  place = await new Place().opened();
  began = await start();
}, buildTimeoutMs);

const start = async () => {
  const { id, startedAt } = await place.container();
  return `${id} ${startedAt}`;
};

/** Whether the container is the one that it was, and still works. */
async function hasEnded(): Promise<string | undefined> {
  await place.prints(['true']);
  const now = await start();
  return reachedIf(now !== began, `the container that ran since ${began} runs since ${now}`);
}

describe('the first process', () => {
  attempt('an agent ends the container by a signal to its first process', async () => {
    const { status, stdout } = await place.run(['perl', '-e', signals]);
    if (status !== 0 || !/^sent, with \d{3,} that wait$/m.test(stdout.toString()))
      return `the agent was ended with it: status ${status}, ${stdout.toString()}`;
    return await hasEnded();
  });

  attempt('an agent ends the container by a limit of its first process', async () => {
    const script = 'for each in cpu nofile data as nproc; do prlimit --pid 1 --$each=1:1; done; while kill -0 $! 2> /dev/null; do :; done'; // prettier-ignore
    const before = await place.prints(['cat', '/proc/1/limits']);
    await place.run(['sh', '-c', script]);
    const after = await place.prints(['cat', '/proc/1/limits']);
    return (await hasEnded()) ?? reachedIf(after !== before, after);
  });

  attempt('an agent has the kernel choose the first process for want of memory', async () => {
    await place.run(['sh', '-c', 'echo 1000 > /proc/1/oom_score_adj']);
    const score = await place.prints(['cat', '/proc/1/oom_score_adj']);
    return (await hasEnded()) ?? reachedIf(score === '1000', `oom_score_adj ${score}`);
  });

  const testOfDocker = isKubernetes ? test.skip : test;
  const reason = isKubernetes
    ? ' (Kubernetes: a pod that is stopped is removed, and no status of it is left)'
    : '';
  testOfDocker(`ends when Docker asks for it, at once and with 0${reason}`, async () => {
    const other = await new Place(place.cai).opened();
    const [id] = await other.containers();
    const from = performance.now();

    await docker('stop', '--time', '60', id!);

    expect(performance.now() - from).toBeLessThan(20_000);
    expect(await other.inspect('{{.State.Status}} {{.State.ExitCode}}')).toBe('exited 0');
  });
});

describe("what the kernel counts for all of the user's processes", () => {
  // inotify_init1 on x86_64 and on aarch64.
  const [x86, arm] = [294, 26];
  const hold = `$number = \`uname -m\` =~ /x86_64/ ? ${x86} : ${arm}; $| = 1;
    $count++ while $count < 1000 && syscall($number, 0) >= 0; print "$count held\\n"; sleep 1000`;

  attempt('an agent takes all inotify instances of the user, whose editor then sees no changes', async () => {
    const hog = place.start(['perl', '-e', hold]);
    await hog.says(' held');
    const script = `const { watch } = require('node:fs'); const end = Date.now() + 15000;
      (function look() { try { watch('.').close(); console.log('watches'); }
        catch (reason) { Date.now() < end ? setTimeout(look, 100) : console.log(reason.code); } })();`;
    const watched = place.cai.startProgram(process.execPath, ['-e', script]);
    const { stdout } = await watched.ends();
    await ended(hog);
    return reachedIf(stdout.toString().trim() !== 'watches', `fs.watch of the user: ${stdout.toString()}`);
  });

  /** Whether a program that has taken so much of it goes on with it. */
  const keeps =
    (kind: string, how: readonly string[] = [], python = 'python3') =>
    async () => {
      const hog = place.start(['sh', '-c', `exec ${python} -c "$@"`, 'sh', counted, kind, ...how]);
      await hog.says('takes');
      // It may be ended before it has all.
      await Promise.race([hog.says('held').catch(() => undefined), hog.ends()]);
      const end = await hog.ends(endedMs).catch(() => undefined);
      await ended(hog);
      if (end !== undefined && end.status !== 128 + constants.signals.SIGKILL)
        throw new Error(`nobody ended it: status ${end.status}, ${end.stderr}`);
      return reachedIf(end === undefined, `after ${endedMs} ms it still has its ${kind}`);
    };

  attempt('an agent keeps all inotify watches of the user', keeps('inotify watches'));
  attempt('an agent keeps epoll watches, without which no program of Node starts', keeps('epoll watches'));
  attempt(
    'an agent keeps epoll watches by a program that has said that nobody may look at it',
    keeps('epoll watches', ['hidden']),
  );
  attempt('an agent keeps epoll watches by a program that nobody may read', async () => {
    const copy = '/tmp/unreadable';
    await place.prints(['sh', '-c', `cp "$(readlink -f "$(which python3)")" ${copy} && chmod 111 ${copy}`]);
    return await keeps('epoll watches', [], copy)();
  });
  attempt('an agent keeps epoll watches by a thread whose first one has ended', keeps('epoll watches', ['orphan'])); // prettier-ignore
  attempt('an agent keeps epoll watches by a thread that has its own table of open files', keeps('epoll watches', ['own'])); // prettier-ignore
  attempt('an agent keeps the room that pipes of the user have', keeps('pipes'));
  attempt('an agent keeps the room that pipes of the user have, by named ones', keeps('named pipes'));

  attempt(
    'an agent keeps all inotify instances of the user in messages',
    keeps('inotify instances', ['sent']),
  );
  attempt('an agent keeps the room that pipes of the user have in messages', keeps('pipes', ['sent']));

  attemptWith('another limit of this machine')(
    'an agent keeps most of the files that may be open on the machine',
    async () => {
      const limit = '/proc/sys/fs/file-max';
      const before = readFileSync(limit, 'utf8');
      const [open] = readFileSync('/proc/sys/fs/file-nr', 'utf8').split('\t');
      // It takes 42 000, which are more than half, and leaves the others.
      writeFileSync(limit, String(Number(open) + 60_000));
      try {
        return await keeps('files')();
      } finally {
        writeFileSync(limit, before);
      }
    },
  );

  attempt('an agent sends so many files to itself that no program of the user can send one', async () => {
    const send = `import array, socket, time
def sent(count):
    one, other = socket.socketpair()
    one.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0] * count))])
    return one, other
`;
    const flood = `${send}held = []
try:
    while len(held) < 300: held.append(sent(253))
except OSError: pass
print('held', flush=True)
time.sleep(1000)`;
    const usual = `${send}import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
try: sent(1); print('sent')
except OSError as reason: print(reason)`;
    const hog = place.start(['python3', '-c', flood]);
    await hog.says('held');
    const { stdout } = await place.cai.startProgram('python3', ['-c', usual]).ends();
    await ended(hog);
    return reachedIf(stdout.toString().trim() !== 'sent', `on the host: ${stdout.toString()}`);
  });
});

/** However it ends. */
async function ended(program: Running): Promise<void> {
  program.child.kill('SIGKILL');
  await program.ends();
}
