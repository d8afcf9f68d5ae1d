/** What the program in a pod finds, `test/kubernetes/network-wall.test.ts` tries on a cluster. */
import { spawnSync } from 'node:child_process';
import { podWall, unwalled } from '../../../../../src/container/engine/kubernetes/pod/pod-network';

const wall = podWall(false);
const withoutNode = podWall(false, true);

describe('podWall', () => {
  test('leaves a pod alone that may have a network', () => {
    expect(podWall(true)).toEqual({ script: [], env: [], entries: [] });
  });

  test.each([
    ['all', wall],
    ['all but its node', withoutNode],
  ])('has the program tried that the shell gets whole, of %s', (_, { script }) => {
    const { status, stderr } = spawnSync('/bin/sh', ['-c', script.join('\n').replace(' -e ', ' -c -e ')]);

    expect(`${String(stderr)}${status}`).toBe('-e syntax OK\n0');
  });

  test('fails where there is nothing to try', () => {
    const { status, stderr } = spawnSync('/bin/sh', ['-c', ['set -e', ...wall.script].join('\n')], {
      env: {},
    });

    expect(String(stderr)).toBe('no address of the API server\n');
    expect(status).not.toBe(0);
  });

  test('tells the address of the node to the program alone, and gives the pod no name server', () => {
    expect(wall.env).toEqual([{ name: 'CAI_NODE', valueFrom: { fieldRef: { fieldPath: 'status.hostIP' } } }]);
    expect(wall.entries).toEqual([
      expect.objectContaining({ path: '/etc/resolv.conf', is: { file: '' }, uid: 0 }),
    ]);
  });
});

test('a node that is always allowed is not tried, and nothing else is left out', () => {
  expect(withoutNode.env).toEqual([]);
  expect(withoutNode.entries).toEqual(wall.entries);
  expect(wall.script[0]!.replace(/.*its node.*/, '')).toBe(withoutNode.script[0]!.replace(/^ +$/m, ''));
});

test('what got through is told with what to do', () => {
  expect(unwalled('its node at 10.0.0.1, port 10250')).toMatch(
    /could connect to its node at 10\.0\.0\.1, port 10250, .* have the administrator .* kubernetes\.allow_own_node = true, or .* network\.egress = "open"$/,
  );
  expect(unwalled('a name server at 10.0.0.1, port 53')).not.toContain('allow_own_node');
});
