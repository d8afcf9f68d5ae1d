import { apiHost, loginKey, parseReference } from '../../../src/container/registry/reference';

const digest = `sha256:${'a1'.repeat(32)}`;

test.each([
  [
    'ghcr.io/team/cai/containai:claude',
    'ghcr.io',
    'ghcr.io/team/cai/containai',
    'team/cai/containai',
    'claude',
  ],
  ['127.0.0.1:5000/x', '127.0.0.1:5000', '127.0.0.1:5000/x', 'x', 'latest'],
  ['localhost/x:1', 'localhost', 'localhost/x', 'x', '1'],
  ['[::1]:5000/x:1', '[::1]:5000', '[::1]:5000/x', 'x', '1'],
  [`host:5000/a/b@${digest}`, 'host:5000', 'host:5000/a/b', 'a/b', digest],
  [`host:5000/a/b:1@${digest}`, 'host:5000', 'host:5000/a/b', 'a/b', digest],
  ['docker.io/node:22', 'docker.io', 'docker.io/node', 'library/node', '22'],
  ['docker.io/team/x:1', 'docker.io', 'docker.io/team/x', 'team/x', '1'],
])('%s is in a registry', (ref, registry, name, repository, version) => {
  expect(parseReference(ref)).toEqual({ registry, name, repository, version });
});

test.each([
  'containai:claude',
  'team/containai:claude',
  'node',
  `sha256:${'a1'.repeat(32)}`,
  'ghcr.io/',
  'ghcr.io/a/../b',
  'ghcr.io/a//b:1:2',
  'ghcr.io/A?b',
  'me@ghcr.io/x',
  'ghcr.io/x@sha256:1',
  '',
])('%s is in no registry that is known', (ref) => expect(parseReference(ref)).toBeUndefined());

test('Docker has other names for its own registry', () => {
  expect([apiHost('docker.io'), apiHost('ghcr.io')]).toEqual(['registry-1.docker.io', 'ghcr.io']);
  expect([loginKey('docker.io'), loginKey('ghcr.io')]).toEqual(['https://index.docker.io/v1/', 'ghcr.io']);
});
