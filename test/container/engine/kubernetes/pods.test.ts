/** What events of a pod say. What a real cluster does is in `test/kubernetes/`. */
import type { KubernetesApi } from '../../../../src/container/engine/kubernetes/api/api';
import { Namespace } from '../../../../src/container/engine/kubernetes/namespace';
import { Pods } from '../../../../src/container/engine/kubernetes/pods';

const notMounted = { reason: 'FailedMount', message: 'secret "x" not found' };
const withoutSandbox = { reason: 'FailedCreatePodSandBox', message: 'no runtime' };

function placeFailure(...items: readonly object[]): Promise<string | undefined> {
  const api = { cluster: { namespace: 'agents' }, list: () => Promise.resolve({ items }) };
  return new Pods(new Namespace(api as unknown as KubernetesApi)).placeFailure('cai-app');
}

test('a node that fails again and again to begin with a pod says why', async () => {
  expect(await placeFailure({ reason: 'Scheduled' }, { ...notMounted, count: 5 })).toBe(notMounted.message);
  const differing = [1, 2, 3, 4].map((each) => ({ ...withoutSandbox, message: `no runtime: ${each}` }));
  expect(await placeFailure(...differing)).toBe('no runtime: 4');
  const [before, now] = ['2026-01-01T00:00:00Z', '2026-01-01T00:00:09Z'];
  const over = { ...withoutSandbox, count: 9, lastTimestamp: before };
  const lasting = { ...notMounted, count: 3, lastTimestamp: now };
  expect(await placeFailure(lasting, over, withoutSandbox)).toBe(notMounted.message);
});

test('a node whose first attempts have failed may still begin with it', async () => {
  expect(await placeFailure({ ...notMounted, count: 2 }, withoutSandbox)).toBeUndefined();
});

test('what a node has failed at before it came to the images is over', async () => {
  expect(await placeFailure({ ...notMounted, count: 5 }, { reason: 'Pulled' })).toBeUndefined();
});
