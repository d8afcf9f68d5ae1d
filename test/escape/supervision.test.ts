/** Attacks on the end of things: what outlives its session, what takes all there is, what silences others. */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { containerOf, processesIn, startedByEngine, untilOnly } from '../engine/inside';
import { provideImages } from '../engine/model';
import { buildTimeoutMs, Place } from '../engine/place';
import { Cai } from '../engine/support';
import { attempt, attemptWith, reachedIf } from './attempt';
import { agent, hostileConfig, Scene } from './hostile-agent';

/** What is left of a session may need that long to end, in milliseconds: twice what it needs. */
const goneMs = 40_000;

let cai: Cai;
let place: Place;

beforeAll(async () => {
  await provideImages(agent);
  cai = new Cai(hostileConfig());
  place = new Place(cai);
}, buildTimeoutMs);

/** What runs in the container `goneMs` after a session in which the agent ran this; `end` ends the session. */
async function leftBy(script: string, end: (scene: Scene) => Promise<void>): Promise<string | undefined> {
  await place.opened();
  rmSync(join(place.workspace, 'begun'), { force: true });
  const container = await containerOf(place.workspace, agent);
  const before = await processesIn(container);
  const scene = await Scene.open({ cai, workspace: place.workspace });
  await scene.sh(script);
  await end(scene);
  if (!existsSync(join(place.workspace, 'begun'))) throw new Error('nothing has begun');
  try {
    await untilOnly(container, before, goneMs);
    return undefined;
  } catch (error) {
    // A container that has ended has nothing left.
    const { isRunning } = await place.container();
    return reachedIf(isRunning, String(error));
  }
}

const closes = async (scene: Scene): Promise<void> => await scene.close();

const kills = async (scene: Scene): Promise<void> => {
  scene.editor.proxy.child.kill('SIGKILL');
  await scene.editor.proxy.ends();
};

/** Starts this so that nothing waits for it, in a session of its own, twice removed from the agent. */
const hidden = (script: string): string =>
  `(setsid sh -c '(setsid sh -c "${script}" &) &' < /dev/null > /dev/null 2>&1 &); until test -e begun; do sleep 0.05; done`;

describe('an agent and its end', () => {
  attempt(
    'a process that ignores every signal and hides in a session of its own outlives the agent',
    async () =>
      await leftBy(
        hidden("trap '' TERM HUP INT QUIT USR1 USR2 PWR CHLD; touch begun; while :; do sleep 1; done"),
        closes,
      ),
  );

  attempt(
    'a process outlives a proxy that was killed',
    async () => await leftBy(hidden('touch begun; exec sleep 1000'), kills),
  );

  attempt(
    'a process that is stopped outlives the agent',
    async () => await leftBy(hidden('touch begun; kill -STOP \\$\\$; sleep 1000'), closes),
  );

  attempt('a process that starts itself again and again outlives the agent', async () => {
    const again = 'again() { (setsid sh again &) ; }; touch begun; sleep 0.02; again';
    return await leftBy(
      `echo '${again}' > again; (setsid sh again < /dev/null > /dev/null 2>&1 &); until test -e begun; do sleep 0.05; done`,
      closes,
    );
  });

  attempt('a process whose first thread has ended outlives the agent', async () => {
    const program = `import ctypes, platform, threading
def go():
    open("begun", "w").close()
    threading.Event().wait()
threading.Thread(target=go).start()
ctypes.CDLL(None).syscall(93 if platform.machine() == "aarch64" else 60, 0)`;
    return await leftBy(`echo '${program}' > program; ${hidden('exec python3 program')}`, closes);
  });

  // Last, because of what it does to the container that all have.
  attempt('a process outlives the agent that has killed what ends it', async () => {
    const kill =
      'for each in $(ps -eo pid,comm | grep -E " (supervisor|sshd)" | while read pid rest; do echo $pid; done); do kill -KILL $each; done';
    return await leftBy(
      `${hidden('touch begun; exec sleep 1000')}; (sleep 0.5; ${kill}) > /dev/null 2>&1 & true`,
      async (scene) => {
        await scene.take({ sh: 'sleep 20' }).catch(() => undefined);
        await kills(scene);
      },
    );
  });
});

attempt('an agent stops what the engine has started in its container, which then never ends', async () => {
  await place.opened();
  const { id } = await place.container();
  const started = startedByEngine(id, 'sh', '-c', 'echo begun; exec sleep 876');
  await started.says('begun');
  const stopper = place.start(['sh', '-c', 'while pkill -STOP -x -f "sleep 876"; do sleep 0.05; done']);
  try {
    await started.ends(goneMs);
    await stopper.ends();
    return undefined;
  } catch (error) {
    return String(error);
  } finally {
    started.child.kill('SIGKILL');
  }
});

describe('an agent that takes all there is', () => {
  attemptWith('a limit of processes')(
    'an agent starts more processes than its container may have',
    async () => {
      const place = await new Place(new Cai('[container]\npids = 128\n')).opened();
      const script = `import os, sys, time
count = 0
try:
    while count < 4000:
        if os.fork() == 0: time.sleep(100); os._exit(0)
        count += 1
except OSError: pass
print(count)`;
      const { stdout } = await place.run(['python3', '-c', script]);
      return reachedIf(Number(stdout.toString()) > 128, `${stdout.toString()} processes`);
    },
  );

  attempt(
    'an agent keeps all processors busy, so that the user can neither enter nor stop its container',
    async () => {
      const place = await new Place(cai).opened();
      const script = `import os, sys
def behind(pid):
    try: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))
    except OSError: pass
for each in os.listdir('/proc'):
    if each.isdigit() and int(each) != os.getpid(): behind(int(each))
begin, end = os.pipe()
for _ in range(100):
    if os.fork() == 0:
        os.close(end)
        os.read(begin, 1)
        while True: pass
print('begun', flush=True)
sys.stdin.read()
os.close(end)
os.wait()`;
      const busy = place.start(['python3', '-c', script]);
      await busy.says('begun');
      busy.child.stdin.end();
      const entered = await place.run(['true']);
      const stopped = await cai.run(['stop', '--force', '--workspace', place.workspace]);
      busy.child.kill('SIGKILL');
      await busy.ends();
      return reachedIf(
        entered.status !== 0 || stopped.status !== 0,
        `cai exec: ${entered.status} ${entered.stderr}; cai stop: ${stopped.status} ${stopped.stderr}`,
      );
    },
  );

  attempt('an agent takes more memory than its container may have', async () => {
    const place = await new Place(new Cai('[container]\nmemory = "256MiB"\n')).opened();
    const script = "taken = []\nfor _ in range(64): taken.append(bytearray(16 * 2**20))\nprint('TAKEN')";
    const { stdout } = await place.run(['python3', '-c', script]);
    return reachedIf(stdout.includes('TAKEN'), '1 GiB');
  });

  attempt('an agent that writes without end silences the agent of another workspace', async () => {
    const scene = await Scene.open({ cai });
    const victim = await scene.another();
    let isOver = false;
    const flood = scene.take({ flood: 8_000 }).then(() => (isOver = true));
    await victim.sh('true');
    const isSilenced = isOver;
    await flood;
    await scene.close();
    return reachedIf(isSilenced, 'the other was answered only after the flood of 32 MB');
  });
});
