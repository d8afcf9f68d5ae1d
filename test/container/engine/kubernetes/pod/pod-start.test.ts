import type { Pod } from '../../../../../src/container/engine/kubernetes/pod/pod';
import { reachedStatus } from '../../../../../src/container/engine/kubernetes/pod/pod-network';
import { PodStart } from '../../../../../src/container/engine/kubernetes/pod/pod-start';

type Status = NonNullable<Pod['status']>;
const main = (state: object) => ({ containerStatuses: [{ name: 'agent', state }] });
const files = (exitCode: number, message = '') => ({
  initContainerStatuses: [{ name: 'files', state: { terminated: { exitCode, message } } }],
});

const fine = () => Promise.resolve(undefined);
type Asked = ConstructorParameters<typeof PodStart>[1];
const mounted: Asked = { placeFailure: fine, nodeFailure: fine };

/** What was told of waiting. */
const words: (string | undefined)[] = [];
beforeEach(() => void words.splice(0));

function started(asked = mounted, scheduleMs?: number): PodStart {
  return new PodStart('cai-app', asked, { scheduleMs, onWait: (why) => words.push(why) });
}

function look(status: Status, start = started(), nodeName = 'node1') {
  return start.look({ metadata: { name: 'cai-app', uid: '1' }, spec: { containers: [], nodeName }, status });
}

test.each<[string, Status]>([
  ['it runs', main({ running: {} })],
  ['it has run, and has ended', { phase: 'Failed', ...main({ terminated: { exitCode: 3 } }) }],
])('nothing is waited for if %s', (_, status) => expect(look(status)).toBe(true));

test.each<[string, Status]>([
  ['nobody has looked at it', {}],
  ['its image is being fetched', main({ waiting: { reason: 'ContainerCreating' } })],
  ['its files were made', files(0)],
  [
    'what the cluster has put beside it has failed',
    { containerStatuses: [{ name: 'beside', state: { terminated: { exitCode: 1 } } }] },
  ],
  ['no node takes it now', { conditions: [{ type: 'PodScheduled', reason: 'Unschedulable' }] }],
])('it may still run if %s', (_, status) => expect(look(status)).toBeUndefined());

test.each<[string, string, Status]>([
  [
    'ErrImagePull: not found',
    'its image is not there',
    main({ waiting: { reason: 'ErrImagePull', message: 'not found' } }),
  ],
  ['its files could not be made: status 1: disk full', 'its files fail', files(1, 'disk full\n')],
  [
    'the cluster does not keep pods from the network: it could connect to x',
    'its network is open',
    files(reachedStatus, 'x'),
  ],
  [
    '"istio-init" has failed in it: status 2: no rights',
    'what the cluster has added fails',
    {
      initContainerStatuses: [
        { name: 'istio-init', state: { terminated: { exitCode: 2, message: 'no rights' } } },
      ],
    },
  ],
  [
    'exec: "/x": no such file',
    'its program is not there',
    main({ terminated: { exitCode: 128, reason: 'StartError', message: 'exec: "/x": no such file' } }),
  ],
  [
    'The node was low on resource: memory',
    'it was evicted',
    { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' },
  ],
])('tells "%s" if %s', (why, _, status) => {
  expect(() => look(status)).toThrow(`cannot start the container cai-app: ${why}`);
});

test('tells that it was removed', () => {
  expect(() => started().look(undefined)).toThrow(
    'cannot start the container cai-app: somebody has removed it: try again',
  );
});

describe('a pod that no node takes', () => {
  const wait = (signal: AbortSignal): Promise<never> =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  const message = '0/2 nodes are available: 2 Insufficient memory.';
  const unplaced = (said = message) => ({
    conditions: [{ type: 'PodScheduled', reason: 'Unschedulable', message: said }],
  });
  const word = 'waiting for a node: 0/2 nodes are available: 2 Insufficient memory';

  test.each([
    [70_000, 70_000, 2],
    [undefined, 15 * 60_000, 29],
  ])(
    'is given up after what is configured (%s ms), with what the scheduler says',
    async (limit, ms, count) => {
      const start = started(mounted, limit);
      look(unplaced(), start);
      let isOver = false;
      const failing = expect(start.within(wait).finally(() => (isOver = true))).rejects.toMatchObject({
        code: 'NO_PLACE',
        message: expect.stringContaining(
          'cannot start the container cai-app: no node takes it: 0/2 nodes are available: 2 Insufficient memory: remove containers',
        ) as string,
      });
      await jest.advanceTimersByTimeAsync(ms - 1);
      expect(isOver).toBe(false);
      expect(words).toEqual(Array(count).fill(word));
      await jest.advanceTimersByTimeAsync(1);
      await failing;
      expect(words.at(-1)).toBeUndefined();
    },
  );

  test('is said to have a node once it has one, and may then take as long as any', async () => {
    const start = started(mounted, 45_000);
    look(unplaced(), start);
    const failing = expect(start.within(wait)).rejects.toThrow('it does not run after 16 minutes');
    await jest.advanceTimersByTimeAsync(30_000);
    look(
      { conditions: [{ type: 'PodScheduled', status: 'True' }], startTime: '2026-11-25T00:00:00Z' },
      start,
    );
    expect(words).toEqual([word, undefined]);
    await jest.advanceTimersByTimeAsync(15 * 60_000 + 15_000);
    await failing;
    expect(words).toHaveLength(2);
  });

  test('is given up after a minute if no further node would change that', async () => {
    const start = started();
    look(unplaced('persistentvolumeclaim "none" not found'), start);
    const failing = expect(start.within(wait)).rejects.toThrow('"none" not found: make that claim');
    await jest.advanceTimersByTimeAsync(60_000);
    await failing;
  });

  const notBegun = { conditions: [{ type: 'PodScheduled', status: 'True' }] };

  test('is given up after a minute if its node has not begun with it and does not answer', async () => {
    const nodeFailure = (_id: string, node: string) => Promise.resolve(`${node} does not answer`);
    const start = started({ placeFailure: fine, nodeFailure });
    look(notBegun, start, 'node2');
    const failing = expect(start.within(wait)).rejects.toMatchObject({
      code: 'NO_PLACE',
      message: 'cannot start the container cai-app: node2 does not answer',
    });
    await jest.advanceTimersByTimeAsync(60_000);
    await failing;
  });

  test('is waited for if its node answers, and has not begun with it', async () => {
    const answers = [undefined, undefined, 'node1 does not answer'];
    const start = started({
      placeFailure: fine,
      nodeFailure: () => Promise.resolve(answers.shift()),
    });
    look(notBegun, start);
    let isOver = false;
    const failing = expect(start.within(wait).finally(() => (isOver = true))).rejects.toThrow(
      'does not answer',
    );
    await jest.advanceTimersByTimeAsync(2 * 60_000);
    expect(isOver).toBe(false);
    await jest.advanceTimersByTimeAsync(60_000);
    await failing;
  });

  test('is given up after a minute if its node cannot begin with it', async () => {
    const start = started({
      placeFailure: () => Promise.resolve('hostPath type check failed: /srv'),
      nodeFailure: fine,
    });
    const failing = expect(start.within(wait)).rejects.toThrow(
      /its node cannot begin with it: hostPath type check failed: \/srv: .*\[\[kubernetes\.volumes\]\]/,
    );
    await jest.advanceTimersByTimeAsync(60_000);
    await failing;
  });

  test('is given up much later if a node has it', async () => {
    const start = started();
    look({ phase: 'Pending', startTime: '2026-11-25T00:00:00Z' }, start);
    let isOver = false;
    const failing = expect(start.within(wait).finally(() => (isOver = true))).rejects.toThrow(
      'it does not run after 15 minutes: see "kubectl get events"',
    );
    await jest.advanceTimersByTimeAsync(14 * 60_000);
    expect(isOver).toBe(false);
    await jest.advanceTimersByTimeAsync(60_000);
    await failing;
  });
});
