import { DockerEngine } from '../../../../src/container/engine/docker/docker-engine';
import { Host } from '../../../../src/system/host';
import { fakeEngine, type Answers } from '../../fake-engine';

/* Answers by the documentation of the Docker Engine API: SystemDataUsage, ImageList. */
const ping = {
  'GET /_ping': { headers: { 'Api-Version': '1.41', Server: 'Docker/20.10.24 (linux)' }, body: 'OK' },
};

async function useOf(answers: Answers) {
  const { address } = await fakeEngine({ ...ping, ...answers });
  return await (await DockerEngine.connect(address, new Host({ HOME: '/none' }))).diskUse();
}

describe('diskUse', () => {
  test('tells what images, containers and volumes take', async () => {
    const use = await useOf({
      'GET /system/df': {
        body: {
          Images: [{ Id: 'sha256:a', Size: 900, SharedSize: 700, Containers: 1 }],
          Containers: [{ Id: 'c1', SizeRw: 12 }, { Id: 'c2' }],
          Volumes: [
            { Name: 'v1', UsageData: { Size: 34, RefCount: 1 } },
            { Name: 'v2', UsageData: { Size: -1, RefCount: -1 } },
            { Name: 'v3', UsageData: null },
          ],
        },
      },
      'GET /images/json': {
        body: [
          { Id: 'sha256:a', RepoTags: ['containai:claude'], Labels: { x: 'y' }, Size: 900, Created: 3 },
          { Id: 'sha256:b', RepoTags: ['<none>:<none>'], Labels: null, Size: 5, Created: 2 },
          { Id: 'sha256:c', RepoTags: null, Labels: null, Size: 6, Created: 1 },
        ],
      },
    });

    expect(use.images).toEqual([
      {
        id: 'sha256:a',
        tags: ['containai:claude'],
        labels: { x: 'y' },
        bytes: 900,
        sharedBytes: 700,
        createdAt: 3_000,
        isUsed: true,
      },
      { id: 'sha256:b', tags: [], labels: {}, bytes: 5, sharedBytes: 0, createdAt: 2_000, isUsed: false },
      { id: 'sha256:c', tags: [], labels: {}, bytes: 6, sharedBytes: 0, createdAt: 1_000, isUsed: false },
    ]);
    expect([...use.containers]).toEqual([
      ['c1', 12],
      ['c2', 0],
    ]);
    expect([...use.volumes]).toEqual([['v1', 34]]);
  });

  test('takes nothing for an empty list', async () => {
    const use = await useOf({
      'GET /system/df': { body: { Images: null, Containers: null, Volumes: null } },
      'GET /images/json': { body: [] },
    });

    expect(use).toEqual({ images: [], containers: new Map(), volumes: new Map() });
  });
});
