import { sharedPlace, sourceOf } from '../../../../../src/container/engine/kubernetes/pod/shared-folders';

const shared = [
  { folder: '/srv', from: { claim: 'all', path: '' } },
  { folder: '/srv/src', from: { claim: 'src', path: 'team' } },
  { folder: '/srv/src/old', from: { claim: 'src', path: 'team-old' } },
  { folder: '/data', from: { path: '/mnt/data' } },
];
const claim = (claimName: string) => ({ persistentVolumeClaim: { claimName } });
const onNodes = { hostPath: { path: '/mnt/data', type: 'Directory' } };

test.each([
  ['/srv', { volume: claim('all') }],
  ['/srv/x', { volume: claim('all'), subPath: 'x' }],
  ['/srv/src', { volume: claim('src'), subPath: 'team' }],
  ['/srv/src/a b/c', { volume: claim('src'), subPath: 'team/a b/c' }],
  ['/srv/src/old/c', { volume: claim('src'), subPath: 'team-old/c' }],
  ['/data', { volume: onNodes }],
  ['/data/x', { volume: onNodes, subPath: 'x' }],
])('%s is in the innermost folder that holds it, and is told of what is mounted', (source, place) => {
  expect(sharedPlace(source, shared)).toEqual(place);
  expect(sourceOf(place, shared)).toBe(source);
});

test.each(['/', '/srv2', '/home/x'])('%s is in none', (source) => {
  expect(() => sharedPlace(source, shared)).toThrow(
    `"${source}" is in no folder that pods can mount: name the folder and its volume in [[kubernetes.volumes]] of your config.toml, or, for a workspace, have it copied with copy = "git" in [kubernetes]`,
  );
});

test('what is mounted of no shared folder is told as the cluster calls it', () => {
  expect(sourceOf({ volume: claim('other'), subPath: 'x' }, shared)).toBe('other/x');
  expect(sourceOf({ volume: claim('src'), subPath: 'elsewhere' }, shared)).toBe('src/elsewhere');
  expect(sourceOf({ volume: { hostPath: { path: '/etc' } } }, shared)).toBe('/etc');
});
