import type { Engine } from '../../src/container/engine/engine';
import { provideContainer } from '../../src/container/provide';
import type { ContainerRequest } from '../../src/container/provide';
import { CaiError } from '../../src/errors';
import { containerInfo, settings } from './given';

/** The same workspace, after another folder has got its name. */
const replaced = settings({ binds: settings().binds.map((bind) => ({ ...bind, identity: '1:9' })) });

const noImage = new CaiError('IMAGE', 'there is no image');
let removed: string[];

/** An engine with one container, in which nothing runs. */
function engineWith(changes: Parameters<typeof containerInfo>[0]): Engine {
  removed = [];
  return {
    inspectContainer: () => Promise.resolve(containerInfo(changes)),
    processes: () => Promise.resolve([]),
    removeContainer: (id: string) => Promise.resolve(void removed.push(id)),
  } as unknown as Engine;
}

function request(changes: Partial<ContainerRequest>): ContainerRequest {
  return {
    settings: settings(),
    imageIfThere: () => Promise.resolve(undefined),
    image: () => Promise.reject(noImage),
    isFresh: false,
    env: {},
    tell: () => undefined,
    ...changes,
  };
}

describe('provideContainer, where there is no image to make another one from', () => {
  test.each([
    ['is to be made anew', { isFresh: true }],
    ['has changed settings', { settings: settings({ pids: 7 }) }],
    ['has another folder than the workspace is now', { settings: replaced }],
  ])('leaves a container alone that %s', async (_, changes) => {
    await expect(provideContainer(engineWith({}), request(changes))).rejects.toBe(noImage);

    expect(removed).toEqual([]);
  });

  test('gives the one that is there', async () => {
    expect(await provideContainer(engineWith({}), request({}))).toMatchObject({ port: 40_000 });
  });
});
