import { ignoredKeys, ignoredNotice } from '../../../src/workspace/devcontainer/ignored';

const asked = {
  initializeCommand: 'touch /tmp/x',
  privileged: true,
  capAdd: ['SYS_ADMIN'],
  securityOpt: ['seccomp=unconfined'],
  runArgs: ['--network=host'],
  mounts: ['source=/,target=/host,type=bind'],
  workspaceMount: 'source=/,target=/w,type=bind',
  build: { dockerfile: 'Dockerfile', options: ['--ssh=default'], cacheFrom: 'type=local,src=/etc' },
};

test('everything is named that would run here or give the container more', () => {
  expect(ignoredKeys(asked)).toEqual([
    ...['initializeCommand', 'privileged', 'capAdd', 'securityOpt', 'runArgs', 'mounts', 'workspaceMount'],
    ...['build.options', 'build.cacheFrom'],
  ]);
  expect(ignoredNotice('F', { privileged: true, runArgs: ['x'] })).toEqual([
    'F: "privileged" and "runArgs" are ignored: nothing of it runs on this machine, and the container gets no more than your own configuration gives it',
  ]);
});

test('nothing is said of what asks for nothing', () => {
  expect(ignoredNotice('F', { privileged: false, capAdd: [], image: 'x', postCreateCommand: 'y' })).toEqual(
    [],
  );
});
