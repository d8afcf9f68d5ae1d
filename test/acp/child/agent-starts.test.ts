import { tmpdir } from 'node:os';
import { AgentProcess } from '../../../src/agent/process';
import type { ProcessEvent } from '../../../src/agent/process-event';
import { CaiError } from '../../../src/errors';
import { AgentStarts } from '../../../src/acp/child/agent-starts';
import { noLog, program } from '../../agent/agent-run';
import { ladder } from './child-run';

/** What happened to a process, in order. */
let told: string[];
let starts: AgentStarts;
let ended: Promise<void>;

afterEach(async () => await starts.stop(ladder));

/** A process of that command, which is started again `restarts` times, each time after a delay. */
function processOf(command: [string, ...string[]], restarts: number, delayMs = 0): void {
  told = [];
  let delay = 0;
  ended = new Promise((resolve) => {
    const options = {
      agent: program(...command),
      cwd: tmpdir(),
      env: process.env,
      limits: { maxLineBytes: 1_024, maxSearchBytes: 1_024 },
      log: noLog,
    };
    const onFailure = (reason: CaiError) => {
      told.push(`failure: ${reason.code}`);
      delay = delayMs;
      return restarts-- > 0 ? undefined : reason;
    };
    const hear = (event: ProcessEvent) => {
      if (event.kind === 'line') told.push((event.line as Buffer).toString());
      if (event.kind === 'end') starts.ended(event.reason);
    };
    starts = new AgentStarts(options.agent.name, {
      spawn: () => {
        told.push('start');
        return new AgentProcess(options, hear);
      },
      delayMs: () => delay,
      onFailure,
      onEnd: (reason) => {
        told.push(`end: ${reason.code}`);
        resolve();
      },
    });
  });
  starts.start();
}

describe('a process that ends', () => {
  test('is started again as long as it is wanted; what it writes comes in order', async () => {
    processOf(['sh', '-c', 'echo said; exit 1'], 1);

    await ended;

    const once = ['start', 'said', 'failure: AGENT_EXITED'];
    expect(told).toEqual([...once, ...once, 'end: AGENT_EXITED']);
  });

  test('is not started again once it is stopped, also while it waits for that; its end is told once', async () => {
    processOf(['true'], 1, 60_000);
    while (!told.includes('failure: AGENT_EXITED')) await new Promise((resolve) => setImmediate(resolve));

    await Promise.all([starts.stop(ladder), starts.stop(ladder)]);

    expect(told).toEqual(['start', 'failure: AGENT_EXITED', 'end: AGENT_EXITED']);
  });

  test('that cannot be started at all is no exception', async () => {
    processOf(['cai-is-no-program'], 1);

    await ended;

    expect(told.filter((each) => each === 'failure: AGENT_START')).toHaveLength(2);
  });
});

describe('a process that has a limit', () => {
  const late = (): CaiError => new CaiError('AGENT_TIMEOUT', 'late');

  test('is ended when it is over, and fails with the reason given', async () => {
    processOf(['sleep', '60'], 0);
    starts.limit(10, late);

    await ended;

    expect(told).toEqual(['start', 'failure: AGENT_TIMEOUT', 'end: AGENT_TIMEOUT']);
  });

  test('is left alone once it has settled', async () => {
    processOf(['sh', '-c', 'sleep 0.1'], 0);
    starts.limit(10, late);
    starts.lift();

    await ended;

    expect(told).toEqual(['start', 'failure: AGENT_EXITED', 'end: AGENT_EXITED']);
  });
});
