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
  'an engine that is killed takes the commands with it, and is there again (needs the engine of machine.sh, and root)',
  async () => {
    const place = await new Place().opened();
    const container = (await place.inspect('{{.Name}}')).slice(1);
    const before = (await processesIn(container)).map(({ pid }) => pid);
    // Heeds no TERM, and neither does what it leaves in a session of its own.
    const program = place.start(['sh', '-c', `trap '' TERM HUP; setsid sleep 601 & sleep 603`]);
    for (const each of ['sleep 601', 'sleep 603']) await untilRuns(container, each);
    const pids = (await processesIn(container)).map(({ pid }) => pid);

    process.kill(Number(readFileSync(daemon!, 'utf8')), 'SIGKILL');

    const inner = pids.filter((pid) => !before.includes(pid));
    const { tookMs } = await measured('engine killed', () => untilGone(inner));
    expect(tookMs).toBeLessThan(closedLimitMs);
    const { status, stderr } = await program.ends();
    execFileSync(join(__dirname, 'machine.sh'), ['start'], { stdio: 'inherit' });
    expect([status, stderr]).toEqual([13, expect.stringMatching(/^cai: .*connection/)]);
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
