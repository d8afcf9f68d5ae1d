/** What the program in a pod finds, `test/kubernetes/network-wall.test.ts` tries on a cluster. */
import { spawnSync } from 'node:child_process';
import { podWall, unwalled } from '../../../../../src/container/engine/kubernetes/pod/pod-network';

const wall = podWall(false);

describe('podWall', () => {
  test('leaves a pod alone that may have a network', () => {
    expect(podWall(true)).toEqual({ script: [], env: [], entries: [] });
  });

  test('has the program tried that the shell gets whole', () => {
    const { status, stderr } = spawnSync('/bin/sh', [
      '-c',
      wall.script.join('\n').replace(' -e ', ' -c -e '),
    ]);

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

test('what got through is told with what to do', () => {
  expect(unwalled('its node at 10.0.0.1, port 10250')).toMatch(
    /could connect to its node at 10\.0\.0\.1, port 10250, .* have the administrator .* network\.egress = "open"$/,
  );
});
