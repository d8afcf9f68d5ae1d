import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AgentEnd } from '../../../src/agent/agent-end';
import { CaiError, type FailureCode } from '../../../src/errors';
import type { Log } from '../../../src/system/log';
import { Attempts, classOf, retryClasses } from '../../../src/acp/child/retry';

const policy = { attempts: 4, firstDelayMs: 1_000, maxDelayMs: 3_000 };

/** An agent that has exited with a status, or whose command says what has failed. */
function ended(status: number | undefined, failure?: FailureCode): CaiError {
  return new CaiError('AGENT_EXITED', 'agent "x" ended', undefined, { cause: new AgentEnd(status, failure) });
}

describe('the class of a failed start', () => {
  test.each([
    ['an engine that is not there', ended(11, 'NO_ENGINE'), 'engine'],
    ['a container that was stopped', ended(11, 'CONTAINER_START'), 'container'],
    ['a container that has gone', ended(10, 'CONTAINER_NOT_FOUND'), 'container'],
    ['a connection that is lost', ended(13, 'SSH_CONNECT'), 'connection'],
    ['an agent that exits', ended(1), 'ended'],
    ['an agent that exits with a status that is ours elsewhere', ended(13), 'ended'],
    ['an agent that a signal ends', ended(undefined), 'ended'],
  ])('of %s', (_, reason, name) => expect(classOf(reason)?.name).toBe(name));

  test.each([
    ['a start that takes too long', new CaiError('AGENT_TIMEOUT', '')],
    ['a program that is not there', new CaiError('AGENT_START', '')],
    ['a wrong configuration', ended(2, 'CONFIG')],
    ['an image that cannot be built', ended(11, 'IMAGE')],
    ['an engine that does not answer', ended(11, 'NOT_READY')],
    ['another host key', ended(14, 'HOST_KEY')],
  ])('of %s is none', (_, reason) => expect(classOf(reason)).toBeUndefined());

  test.each([2, 64, 77, 78, 126, 127])(
    'of an agent is none for its status %i, unless it had started',
    (status) => {
      expect(classOf(ended(status))).toBeUndefined();
      expect(classOf(ended(status), true)?.name).toBe('ended');
      expect(classOf(ended(status, 'NO_ENGINE'))?.name).toBe('engine');
    },
  );
});

test('the classes are those that the documentation explains, in its order', () => {
  const page = readFileSync(join(__dirname, '../../../docs/troubleshooting.md'), 'utf8');
  const [, table = ''] = page.split('### Starting an agent again');
  const rows = [...table.matchAll(/^\| `([a-z-]+)` +\|/gm)];

  expect(rows.map(([, name]) => name)).toEqual(retryClasses.map(({ name }) => name));
});

describe('attempts', () => {
  let logged: unknown[];
  let attempts: Attempts;
  beforeEach(() => {
    logged = [];
    const log = { warn: (fields: unknown) => logged.push(fields) } as unknown as Log;
    attempts = new Attempts(policy, log);
  });

  test('wait twice as long each time, up to a limit, and then end with all that is to be known', () => {
    const waits = [attempts.delayMs];
    for (let count = 1; count < 4; count++) {
      expect(attempts.failed(ended(1))).toBeUndefined();
      waits.push(attempts.delayMs);
    }

    const final = attempts.failed(ended(1))!;

    expect(waits).toEqual([0, 1_000, 2_000, 3_000]);
    expect(final.message).toBe('agent "x" ended (attempt 4 of 4: run its command in a terminal to see why)');
    expect(classOf(final)?.name).toBe('ended');
  });

  test('of an agent that had started go on, whatever its status says', () => {
    expect(attempts.failed(ended(2), true)).toBeUndefined();
    expect(attempts.failed(ended(2))).toBeDefined();
  });

  test('are logged each with its class, and the text as what an agent may have said', () => {
    const said = 'agent "x" ended';
    attempts.failed(ended(11, 'NO_ENGINE'));
    attempts.failed(ended(2));

    expect(logged).toEqual([
      { class: 'engine', attempt: 1, attempts: 4, delayMs: 1_000, code: 'NO_ENGINE', status: 11, said },
      {
        class: undefined,
        attempt: 2,
        attempts: 4,
        delayMs: undefined,
        code: 'AGENT_EXITED',
        status: 2,
        said,
      },
    ]);
  });

  test('begin anew after the last one, and after a success', () => {
    attempts.failed(ended(1));
    attempts.succeeded();
    expect(attempts.delayMs).toBe(0);

    for (let count = 1; count <= 4; count++) attempts.failed(ended(1));

    expect(attempts.delayMs).toBe(0);
    expect(attempts.failed(ended(1))).toBeUndefined();
  });

  test('that are of no use are not made: the failure is told as it is', () => {
    const reason = ended(127);

    expect(attempts.failed(reason)).toBe(reason);
    expect(attempts.delayMs).toBe(0);
  });
});
