import type { Pod } from '../../../../../src/container/engine/kubernetes/pod/pod';
import { containerInfoOf, endOf } from '../../../../../src/container/engine/kubernetes/pod/pod-info';

const none = { volumes: [], injected: [] };
const agent = { name: 'agent', image: 'x' };
const running = { name: 'agent', state: { running: { startedAt: '2026-01-01T00:00:00Z' } } };
const ready = (status: string) => [{ type: 'Ready', status }];
const ago = (ms: number) => new Date(Date.now() - ms).toISOString();

function pod(status: Pod['status'], metadata: Partial<Pod['metadata']> = {}): Pod {
  return { metadata: { name: 'x', uid: '1', ...metadata }, spec: { containers: [agent] }, status: status! };
}

test.each<[string, Pod, string]>([
  ['no node has it', pod({ phase: 'Pending' }), 'created'],
  ['it runs', pod({ conditions: ready('True'), containerStatuses: [running] }), 'running'],
  [
    'it has ended',
    pod({
      phase: 'Succeeded',
      containerStatuses: [{ name: 'agent', state: { terminated: { exitCode: 0 } } }],
    }),
    'exited',
  ],
  [
    'it has used too much memory',
    pod({
      phase: 'Failed',
      containerStatuses: [{ name: 'agent', state: { terminated: { exitCode: 137, reason: 'OOMKilled' } } }],
    }),
    'exited',
  ],
  ['it was evicted', pod({ phase: 'Failed', reason: 'Evicted' }), 'exited'],
  ['its node is lost', pod({ conditions: ready('False'), containerStatuses: [running] }), 'exited'],
  [
    'what the cluster has added to it is not ready',
    pod({
      conditions: [{ type: 'Ready', status: 'False', reason: 'ContainersNotReady' }],
      containerStatuses: [running],
    }),
    'running',
  ],
  [
    'it is ending',
    pod({ conditions: ready('False'), containerStatuses: [running] }, { deletionTimestamp: ago(1_000) }),
    'removing',
  ],
  [
    'it should have ended long ago, and its node is lost',
    pod({ conditions: ready('False'), containerStatuses: [running] }, { deletionTimestamp: ago(60_000) }),
    'exited',
  ],
])('tells what state a pod is in if %s', (what, given, state) => {
  const info = containerInfoOf(given, none);
  expect(info.isOomKilled).toBe(what === 'it has used too much memory');
  expect(info.state).toBe(state);
  expect(info.isRunning).toBe(state === 'running');
  expect(endOf(given) !== undefined).toBe(state === 'exited');
});

test('what a lost node ran counts as killed', () => {
  expect(endOf(pod({ conditions: ready('False'), containerStatuses: [running] }))).toEqual({ exitCode: 137 });
});

const confined = {
  ...agent,
  securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
};
const beside = { ...confined, name: 'istio-proxy', image: 'istio/proxyv2:1.24.1' };
const before = { name: 'istio-init', image: 'istio/proxyv2:1.24.1' };

test.each<[string, boolean, Partial<Pod['spec']>, readonly string[]]>([
  ['alone', true, {}, []],
  ['with another beside it', false, { containers: [confined, beside] }, []],
  ['with another that is expected by its name', true, { containers: [confined, beside] }, [beside.name]],
  ['with another that is expected by its image', true, { containers: [confined, beside] }, [beside.image]],
  ['with two of which one is expected', false, { containers: [confined, beside, agent] }, [beside.name]],
  ['after another', false, { initContainers: [before] }, []],
  ['after another that is expected', true, { initContainers: [before] }, [before.name]],
  ['after one that goes on', false, { initContainers: [{ ...before, restartPolicy: 'Always' }] }, []],
  [
    'after one that goes on and is expected',
    true,
    { initContainers: [{ ...before, restartPolicy: 'Always' }] },
    [before.image],
  ],
  ['with a look into it', false, { ephemeralContainers: [beside] }, [beside.name]],
  [
    'with more rights than the others',
    false,
    { containers: [{ ...confined, securityContext: {} }, beside] },
    [beside.name],
  ],
])('a container %s counts as confined: %s', (_, isConfined, spec, injected) => {
  const given = { ...pod({}), spec: { containers: [confined], ...spec } };

  expect(containerInfoOf(given, { volumes: [], injected }).rights.isConfined).toBe(isConfined);
});
