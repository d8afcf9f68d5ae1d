import { ChildHealth } from '../../../src/acp/child/child-health';
import type { CaiError } from '../../../src/errors';
import type { Child } from '../../../src/acp/child/child';

const periodMs = 5_000;

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** A child of which one request is open, run by a program that answers as long as it `works`. */
function newChild() {
  const link = {
    works: true,
    asked: 0,
    isAlive: (limitMs: number): Promise<boolean> => {
      link.asked++;
      if (link.works) return Promise.resolve(true);
      return new Promise((resolve) => setTimeout(() => resolve(false), limitMs));
    },
  };
  const child = { name: 'claude', isUsable: true, requests: { size: 1 }, pid: 7, link };
  return {
    child: child as unknown as Child & { requests: { size: number }; isUsable: boolean },
    link,
  };
}

/** Looks after children; who was given up, with why. */
function looking(...children: Child[]): {
  all: Child[];
  given: [Child, CaiError][];
} {
  const given: [Child, CaiError][] = [];
  const health = new ChildHealth(children, (child, reason) => {
    Object.assign(child, { isUsable: false });
    given.push([child, reason]);
  });
  health.watch();
  health.watch();
  return { all: children, given };
}

describe('ChildHealth', () => {
  test('gives up a child whose program does not answer, within 30 s, and no other', async () => {
    const [hung, well] = [newChild(), newChild()];
    const { given } = looking(hung.child, well.child);
    await jest.advanceTimersByTimeAsync(periodMs);
    // Just after it has answered.
    hung.link.works = false;

    await jest.advanceTimersByTimeAsync(30_000 - 1);

    expect(given).toEqual([[hung.child, expect.objectContaining({ code: 'AGENT_EXITED' })]]);
    expect(given[0]![1].message).toMatch(/cai exec, process 7\) does not answer.*next prompt/);
    expect(well.link.asked).toBeGreaterThan(2);
  });

  test('bears one answer that is missing', async () => {
    const { child, link } = newChild();
    const { given } = looking(child);

    for (let count = 0; count < 10; count++) {
      link.works = false;
      await jest.advanceTimersByTimeAsync(2 * periodMs);
      link.works = true;
      await jest.advanceTimersByTimeAsync(2 * periodMs);
    }

    expect(given).toEqual([]);
  });

  test('blames nobody for time in which it was stopped itself', async () => {
    const { child, link } = newChild();
    const { given } = looking(child);
    link.works = false;

    for (let count = 0; count < 10; count++) {
      await jest.advanceTimersByTimeAsync(periodMs);
      const now = performance.now();
      jest.spyOn(performance, 'now').mockReturnValueOnce(now + 3_600_000);
      await jest.advanceTimersByTimeAsync(periodMs);
    }

    expect(given).toEqual([]);
  });

  test('asks only while something is asked of the agent, and ends with the children', async () => {
    const { child, link } = newChild();
    child.requests.size = 0;
    const { all } = looking(child);
    await jest.advanceTimersByTimeAsync(10 * periodMs);
    expect(link.asked).toBe(0);

    all.length = 0;
    await jest.advanceTimersByTimeAsync(2 * periodMs);

    expect(jest.getTimerCount()).toBe(0);
  });

  test.each([
    ['stopped', 'agent "claude" is stopped'],
    ['unwatchable', 'agent "claude" may be stopped, and cannot be watched'],
  ] as const)('gives up a child whose program tells that the agent is %s, once', (kind, message) => {
    const { child } = newChild();
    const given: string[] = [];
    const health = new ChildHealth([child], (each, reason) => {
      Object.assign(each, { isUsable: false });
      given.push(reason.message);
    });

    health.giveUpStopped(child, kind);
    health.giveUpStopped(child, kind);

    expect(given).toEqual([expect.stringContaining(message)]);
  });
});
