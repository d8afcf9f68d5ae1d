import type { Pod } from '../../../../../src/container/engine/kubernetes/pod/pod';
import { containerInfoOf, endOf } from '../../../../../src/container/engine/kubernetes/pod/pod-info';

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
  ['it was evicted', pod({ phase: 'Failed', reason: 'Evicted' }), 'exited'],
  ['its node is lost', pod({ conditions: ready('False'), containerStatuses: [running] }), 'exited'],
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
])('tells what state a pod is in if %s', (_, given, state) => {
  const info = containerInfoOf(given, []);
  expect(info.state).toBe(state);
  expect(info.isRunning).toBe(state === 'running');
  expect(endOf(given) !== undefined).toBe(state === 'exited');
});

test('what a lost node ran counts as killed', () => {
  expect(endOf(pod({ conditions: ready('False'), containerStatuses: [running] }))).toEqual({ exitCode: 137 });
});

test('another container beside that of the agent confines nothing', () => {
  const confined = {
    ...agent,
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
  };
  const given = pod({});
  const isConfined = (...containers: Pod['spec']['containers']) =>
    containerInfoOf({ ...given, spec: { containers } }, []).rights.isConfined;

  expect(isConfined(confined)).toBe(true);
  expect(isConfined(confined, { ...confined, name: 'beside' })).toBe(false);
});
