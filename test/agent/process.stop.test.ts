import type * as Timers from 'node:timers/promises';
import { patientStop, type StopLadder } from '../../src/agent/process-end';
import { AgentRun, fixture, program } from './agent-run';

/** The end of a group is waited for a fifth of the time. */
jest.mock('node:timers/promises', () => {
  const { setTimeout: sleep } = jest.requireActual<typeof Timers>('node:timers/promises');
  return { setTimeout: (ms: number) => sleep(ms / 5) };
});

const shortLadder: StopLadder = { termAfterMs: 50, killAfterMs: 50 };
const longLadder: StopLadder = { termAfterMs: 60_000, killAfterMs: 60_000 };

let run: AgentRun;

/** Makes timers run out 10 times as fast, so that a test need not wait for a limit of seconds. */
function hasten(): void {
  const start = globalThis.setTimeout;
  const hastened = (callback: () => void, ms = 0) => start(callback, ms / 10);
  jest.spyOn(globalThis, 'setTimeout').mockImplementation(hastened);
}

afterEach(async () => {
  jest.restoreAllMocks();
  const left = run.leftovers;
  await run.clear();
  expect(left).toEqual([]);
});

describe('stop', () => {
  test('ends an agent by the end of its stdin, if that is enough', async () => {
    run = new AgentRun(program('cat'));

    await run.process.stop(longLadder);

    expect((await run.ended).message).toBe(
      'agent "cat" exited with status 0: run its command in a terminal to see why',
    );
  });

  test('gives an agent time to say what it has to say', async () => {
    run = new AgentRun(program('sh', '-c', 'cat; sleep 0.1; echo done'));
    run.send('first');

    await run.process.stop(longLadder);

    expect(run.lines).toEqual(['first', 'done']);
  });

  test('goes on to SIGTERM, then to SIGKILL', async () => {
    run = new AgentRun(fixture('ignores-eof-and-term'));
    await run.line('ready');

    // Each waits until the agent has said which came before.
    const timers = jest.spyOn(globalThis, 'setTimeout').mockReturnValue(undefined as never);
    void run.process.stop({ termAfterMs: 1_000, killAfterMs: 2_000 });
    for (const [said, limitMs] of [
      ['EOF', 1_000],
      ['SIGTERM', 2_000],
    ] as const) {
      await run.line(said);
      expect(timers).toHaveBeenLastCalledWith(expect.any(Function), limitMs);
      timers.mock.lastCall![0]();
    }

    expect((await run.ended).message).toMatch(/was killed by SIGKILL/);
    expect(run.lines).toEqual(['ready', 'EOF', 'SIGTERM']);
  });

  test('asked again goes by the new ladder, and every caller waits for the end', async () => {
    run = new AgentRun(fixture('ignores-eof-and-term'));
    await run.line('ready');

    const first = run.process.stop(longLadder);
    await Promise.all([first, run.process.stop(shortLadder)]);

    expect(run.endCount).toBe(1);
  });

  test('keeps its ladder when the agent closes its stdout on the way', async () => {
    run = new AgentRun(fixture('closes-stdout', 'late'));
    await run.line('line');
    const timers = jest.spyOn(globalThis, 'setTimeout');

    await run.process.stop({ termAfterMs: 300, killAfterMs: 60_000 });

    expect((await run.ended).message).toMatch(/was killed by SIGTERM/);
    expect(timers).not.toHaveBeenCalledWith(expect.any(Function), patientStop.termAfterMs);
  });

  test('ends what the agent has started in its group', async () => {
    run = new AgentRun(program('sh', '-c', 'sleep 60 & sleep 60 & echo up; cat'));
    await run.line('up');

    await run.process.stop(longLadder);

    expect(run.lines).toEqual(['up']);
  });
});

describe('an agent that closes its stdout', () => {
  test('is of no use and is ended', async () => {
    run = new AgentRun(fixture('closes-stdout'));

    expect((await run.ended).message).toMatch(/exited with status 0/);
    expect(run.lines).toEqual(['line']);
  });
});

describe('an agent that leaves a child with its stdout', () => {
  test('in its group has that ended too, by SIGKILL if need be', async () => {
    run = new AgentRun(fixture('leaves-a-child', 'stubborn'));
    await run.line('child is up');
    run.send('go');

    await run.process.stop(longLadder);

    expect((await run.ended).message).toMatch(/exited with status 0/);
  });

  test.each(['silent', 'noisy'])('in a session of its own, %s, has ended all the same', async (kind) => {
    hasten();
    run = new AgentRun(fixture('leaves-a-child', kind));
    await run.line('child is up');
    run.send('go');

    await run.process.stop(longLadder);

    expect((await run.ended).message).toMatch(/exited with status 0/);
    // Without a container nobody knows of that child.
    expect(run.leftovers).toHaveLength(1);
    await run.clear();
  });
});
