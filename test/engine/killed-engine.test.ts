import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isPodman, testUnless } from './engines';
import { measured, processesIn, untilRuns } from './inside';
import { buildTimeoutMs, Place } from './place';

/** Within this time nothing may be left of a command whose connection is closed. */
const closedLimitMs = 10_000;

const state = process.env.CAI_TEST_STATE;
const daemon = state === undefined ? undefined : join(state, 'docker.pid');
const canKillEngine = daemon !== undefined && existsSync(daemon) && process.getuid?.() === 0;

// Nothing else may run on the engine meanwhile: run.mjs leaves this file out where several files run at a time.
(canKillEngine || isPodman ? testUnless('the end of the engine') : test.skip)(
  'a command goes on when the engine is killed, and ends as usual once that is there again (needs the engine of machine.sh, and root)',
  async () => {
    const place = await new Place().opened();
    const container = (await place.inspect('{{.Name}}')).slice(1);
    const before = (await processesIn(container)).map(({ pid }) => pid);
    // Heeds no TERM, and neither does what it leaves in a session of its own.
    const program = place.start(['sh', '-c', `trap '' TERM HUP; setsid sleep 601 & cat`]);
    for (const each of ['sleep 601', 'cat']) await untilRuns(container, each);
    const pids = (await processesIn(container)).map(({ pid }) => pid);

    process.kill(Number(readFileSync(daemon!, 'utf8')), 'SIGKILL');

    program.child.stdin.write('heard\n');
    await program.says('heard');
    execFileSync(join(__dirname, 'machine.sh'), ['start'], { stdio: 'inherit' });
    program.child.kill('SIGKILL');
    const inner = pids.filter((pid) => !before.includes(pid));
    const { tookMs } = await measured('engine killed', () => untilGone(inner));
    expect(tookMs).toBeLessThan(closedLimitMs);
    expect(await place.prints(['echo', 'again'])).toBe('again');
  },
  buildTimeoutMs,
);

/** The host's view: there is no engine to ask. */
async function untilGone(pids: readonly number[]): Promise<void> {
  const deadline = Date.now() + closedLimitMs + 5_000;
  while (pids.some((pid) => existsSync(`/proc/${pid}`))) {
    if (Date.now() > deadline)
      throw new Error(`still there: ${pids.filter((pid) => existsSync(`/proc/${pid}`)).join(' ')}`);
    await pause(50);
  }
}
