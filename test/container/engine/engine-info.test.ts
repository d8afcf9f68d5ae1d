import {
  aboutOf,
  buildOptionsOf,
  imageInfoOf,
  listedImageOf,
  summaryOf,
  volumeInfoOf,
} from '../../../src/container/engine/engine-info';

test.each([
  ['name=rootless', '1', false],
  ['name=rootless', '2', true],
  ['name=rootless', undefined, true],
  ['name=seccomp,profile=default', '1', true],
])(
  'an engine with %s on version %s of cgroups can pause containers: %s',
  (option, CgroupVersion, canPause) => {
    const info = { ServerVersion: '29', SecurityOptions: [option], CgroupVersion };

    expect(aboutOf(info, { apiVersion: '1.41', isPodman: false })).toMatchObject({ canPause });
  },
);

describe('what an engine leaves out', () => {
  test('is none of it', () => {
    const info = { ServerVersion: '29', MemTotal: 1, NCPU: 2, OSType: 'linux', SecurityOptions: null, MemoryLimit: true, PidsLimit: true, CpuCfsQuota: true }; // prettier-ignore

    expect(aboutOf(info, { apiVersion: '1.41', isPodman: true }, { host: { security: { rootless: true } } })).toMatchObject({ isRootless: true, cpus: 2, hasSeccomp: false, limits: { memory: false, pids: false, cpus: false } }); // prettier-ignore
    expect(aboutOf(info, { apiVersion: '1.52', isPodman: false }).isRootless).toBe(false);
    expect(summaryOf({ Id: '1', Names: ['/x'], State: 'created', Labels: null, Created: 2 })).toEqual({
      id: '1',
      name: 'x',
      state: 'created',
      labels: {},
      createdAt: 2000,
    });
    // Docker from API 1.52 on, and an image of nothing.
    const nothing = { id: '1', tags: [], labels: {}, env: [], bytes: 2 };
    expect(imageInfoOf({ Id: '1', Size: 2, Config: {} })).toEqual({ ...nothing, createdAt: NaN });
    expect(imageInfoOf({ Id: '1', Size: 2, Config: null })).toEqual({ ...nothing, createdAt: NaN });
    expect(listedImageOf({ Id: '1', Size: 2, RepoTags: null, Labels: null, Created: 3 })).toEqual({
      ...nothing,
      createdAt: 3000,
    });
    expect(volumeInfoOf({ Name: 'v', Labels: null })).toEqual({ name: 'v', labels: {} });
  });
});

describe('buildOptionsOf', () => {
  const request = {
    tag: 'x:1',
    dockerfile: 'Dockerfile',
    buildArgs: { A: 'b' },
    labels: {},
    noCache: true,
    pull: false,
  };
  const always = { version: '1', t: 'x:1', dockerfile: 'Dockerfile', buildargs: { A: 'b' }, labels: {}, nocache: true, pull: false, rm: true, forcerm: true }; // prettier-ignore

  test('names stage and network only if they are asked for', () => {
    expect(buildOptionsOf(request)).toEqual(always);
    expect(buildOptionsOf({ ...request, target: 'base', networkMode: 'host' })).toEqual({
      ...always,
      target: 'base',
      networkmode: 'host',
    });
  });
});
