import { noRoomIn } from '../../src/container/make';
import { CaiError } from '../../src/errors';
import { containerInfo } from './given';

const container = { id: 'f00', name: 'cai-app-1' };
const cause = new Error('no answer');
const { rights } = containerInfo();

/** An engine with a container that has so many processes, and may have so many. */
const engineWith = (count: number | undefined, pidsLimit: number) => ({
  processCount: () => Promise.resolve(count),
  inspectContainer: () => Promise.resolve(containerInfo({ rights: { ...rights, pidsLimit } })),
});

describe('noRoomIn', () => {
  test('says how many processes there are and may be, and what to do', async () => {
    const said = await noRoomIn(engineWith(1020, 1024), container, cause);

    expect(said).toMatchObject({ code: 'SSH_CONNECT', cause });
    expect(said?.message).toBe(
      'the container cai-app-1 has no room for another process (1020 of 1024): end its commands, if need be all with "cai stop", or raise container.pids in the configuration',
    );
  });

  test('has nothing to say where there is room, or nobody knows', async () => {
    expect(await noRoomIn(engineWith(1016, 1024), container, cause)).toBeUndefined();
    expect(await noRoomIn(engineWith(1020, 0), container, cause)).toBeUndefined();
    expect(await noRoomIn(engineWith(undefined, 1024), container, cause)).toBeUndefined();
    const gone = () => Promise.reject(new CaiError('NO_ENGINE', 'gone'));
    expect(await noRoomIn({ processCount: gone, inspectContainer: gone }, container, cause)).toBeUndefined();
  });
});
