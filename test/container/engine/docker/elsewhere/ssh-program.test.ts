import { readFileSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import {
  sshArguments,
  sshConfig,
  sshTargetOf,
} from '../../../../../src/container/engine/docker/elsewhere/ssh-program';
import { Host } from '../../../../../src/system/host';
import { newFolder } from '../../../../support/temp-folder';

describe('sshTargetOf', () => {
  test.each([
    ['ssh://build', { host: 'build' }],
    ['ssh://me@build.example:2222/', { host: 'build.example', user: 'me', port: '2222' }],
    ['ssh://[::1]:22', { host: '::1', port: '22' }],
    ['ssh://build/run/user/1/docker.sock', { host: 'build', socket: '/run/user/1/docker.sock' }],
  ])('reads %s', (endpoint, target) => expect(sshTargetOf(endpoint)).toEqual(target));

  test.each([
    'ssh://',
    'ssh://me:secret@build',
    'ssh://-oProxyCommand=x',
    'ssh://-l@build',
    'ssh://build:port',
    "ssh://build/a'b",
    'ssh://build/a b',
  ])('takes nothing from %s', (endpoint) => expect(sshTargetOf(endpoint)).toBeUndefined());
});

test('ssh is started as Docker starts it, and never asks', () => {
  const target = { host: 'build', user: 'me', port: '2222', socket: '/x.sock' };
  const first = ['-F', '/config', '-T', '-o', 'BatchMode=yes', '-l', 'me', '-p', '2222', '--', 'build'];

  expect(sshArguments(target, 'docker', '/config')).toEqual([...first, 'docker', '--host', 'unix:///x.sock', 'system', 'dial-stdio']); // prettier-ignore
  expect(sshArguments(target, 'podman', '/config')).toEqual([...first, 'podman', '--url', 'unix:///x.sock', 'system', 'dial-stdio']); // prettier-ignore
  expect(sshArguments({ host: 'build' }, 'docker', '/config').slice(5)).toEqual(['--', 'build', 'docker', 'system', 'dial-stdio']); // prettier-ignore
});

describe('sshConfig', () => {
  test("has what the user's own and the system's say first, then one connection for all", () => {
    const state = newFolder();
    const file = sshConfig(new Host({ HOME: '/none', XDG_STATE_HOME: state }));

    const [own, system, ...ours] = readFileSync(file, 'utf8').trimEnd().split('\n');
    expect(own).toBe(`Include "${userInfo().homedir}/.ssh/config"`);
    expect(system).toBe('Include /etc/ssh/ssh_config');
    expect(ours[0]).toBe('Host *');
    expect(ours).toContain(`ControlPath "${join(state, 'containai/via')}/%C"`);
    expect(statSync(dirname(file)).mode & 0o777).toBe(0o700);
  });

  test('shares no connection where the path of its socket would be too long', () => {
    const state = join(newFolder(), 'x'.repeat(60));

    const file = sshConfig(new Host({ HOME: '/none', XDG_STATE_HOME: state }));

    expect(readFileSync(file, 'utf8')).not.toContain('Control');
  });
});
