/** An agent behind a process that offers the agent's own pipes; the test is the agent. */
import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { platform } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import type { StopLadder } from '../../src/agent/process-end';
import { errorCodeOf } from '../../src/errors';
import { newFolder } from '../support/temp-folder';
import { AgentRun, fixture } from './agent-run';

const { O_NONBLOCK, O_RDONLY, O_RDWR } = constants;
const longLadder: StopLadder = { termAfterMs: 60_000, killAfterMs: 60_000 };

let run: AgentRun;
/** The agent's ends. Like what an agent has started, they stay open when it has ended. */
let ends: { readonly stdin: number; readonly stdout: number };

/** Starts the process, which passes on what the agent says, up to a text. */
function start(last = ''): void {
  const folder = newFolder();
  const [input, output] = ['in', 'out'].map((name) => join(folder, name)) as [string, string];
  execFileSync('mkfifo', [input, output]);
  ends = { stdin: openSync(input, O_RDONLY | O_NONBLOCK), stdout: openSync(output, O_RDWR) };
  run = new AgentRun({ ...fixture('has-pipes', folder, last), hasStatus: true });
}

/** What the agent reads next; '' at the end of its stdin. */
async function read(): Promise<string> {
  const piece = Buffer.alloc(1_000);
  for (;;) {
    try {
      return piece.toString('utf8', 0, readSync(ends.stdin, piece));
    } catch (reason) {
      if (errorCodeOf(reason) !== 'EAGAIN') throw reason;
      await turn();
    }
  }
}

async function started(): Promise<void> {
  while (!run.statuses.some(({ kind }) => kind === 'started')) await turn();
}

afterEach(async () => {
  for (const each of Object.values(ends)) closeSync(each);
  await run.clear();
});

(platform() === 'linux' ? describe : describe.skip)('an agent whose pipes are offered', () => {
  test('is written to and read past the process, after all that it passes on itself', async () => {
    start('line 500\nli');
    const lines = Array.from({ length: 1_000 }, (_, i) => `line ${i}`);
    const [own, others] = [lines.slice(0, 501), lines.slice(501)];
    for (const line of own) {
      writeSync(ends.stdout, `${line}\n`);
      await turn();
    }
    await started();
    run.send('to it');
    expect(await read()).toBe('to it\n');
    // In the middle of a line.
    writeSync(ends.stdout, 'li');
    await turn();
    writeSync(ends.stdout, `${others.join('\n').slice(2)}\n`);
    await run.line('line 999');

    expect(run.lines).toEqual(lines);
    expect(run.stderr).toBe('');
    expect(run.statuses.map(({ kind }) => kind)).toEqual(['started']);
  });

  test('has the end of its stdin when it is stopped', async () => {
    start();
    await started();
    run.send('to it');

    const stopped = run.process.stop(longLadder);

    expect([await read(), await read()]).toEqual(['to it\n', '']);
    process.kill(run.process.pid!, 'SIGUSR2');
    await stopped;
  });

  test('has its last lines read when the process has ended, while something else holds its stdout open', async () => {
    start();
    await started();
    run.process.pause();
    const lines = Array.from({ length: 5_000 }, (_, i) => `line ${i}`);
    writeSync(ends.stdout, `${lines.join('\n')}\n`);

    process.kill(run.process.pid!, 'SIGUSR2');
    while (run.leftovers.length > 0) await turn();
    expect(run.endCount).toBe(0);
    run.process.resume();

    await run.ended;
    expect(run.lines).toEqual(lines);
  });

  test('gets nothing more when it is lost, of which is told how much it may have got', async () => {
    start();
    await started();
    run.send('to it');
    process.kill(run.process.pid!, 'SIGUSR2');
    while (run.statuses.length === 1) await turn();

    run.send('too late');

    expect([await read(), await read()]).toEqual(['to it\n', '']);
    expect(run.statuses.at(-1)).toEqual({ kind: 'lost', takenBytes: 'to it\n'.length });
    await run.ended;
  });

  test('has the process between, where the pipes come when it is being stopped', async () => {
    start();
    const stopped = run.process.stop(longLadder);
    await started();

    process.kill(run.process.pid!, 'SIGUSR2');
    await stopped;

    expect(await read()).toBe('');
    expect(run.endCount).toBe(1);
  });
});
