import { noRoomIn, whyKilled } from '../../src/container/endings';
import { SshConnection } from '../../src/container/ssh/ssh';
import { CaiError } from '../../src/errors';
import { containerInfo } from './given';
import { startServer, type Played, type SshServer } from './ssh/ssh-server';

const container = { id: 'f00', name: 'cai-app-1' };
const cause = new Error('no answer');
const { rights } = containerInfo();

/** An engine with a container that has so many processes, and may have so many. */
const engineWith = (count: number | undefined, pids: number) => ({
  processCount: () => Promise.resolve(count),
  inspectContainer: () => Promise.resolve(containerInfo({ rights: { ...rights, pids } })),
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

describe('whyKilled', () => {
  let server: SshServer;
  let connection: SshConnection;

  afterEach(() => {
    connection.destroy();
    server.close();
  });

  async function toldBy(play: (command: Played) => void): Promise<string | undefined> {
    server = await startServer(play);
    connection = await SshConnection.open(server.target);
    return await whyKilled(connection, undefined);
  }

  function answer(text: string): (command: Played) => void {
    return ({ channel }) => {
      channel.write(`\0${text}`);
      channel.exit(0);
      channel.end();
    };
  }

  test.each([
    ['the second version of control groups', 'low 0\noom 5\noom_kill 3\noom_group_kill 1\n', 3],
    ['the first', 'oom_kill_disable 0\nunder_oom 0\noom_kill 12\n', 12],
  ])('reads the counter of %s', async (_, text, count) => {
    expect(await toldBy(answer(text))).toContain(`run out of memory, and ${count} of its processes`);
  });

  test('knows nothing without a counter', async () => {
    expect(await toldBy(answer(''))).toBeUndefined();
  });

  test('reads no more than it may from a container that does not stop', async () => {
    const endless = ({ channel }: Played) => {
      channel.write('\0oom_kill 7\n');
      const fill = () => channel.writable && channel.write('x'.repeat(32 * 1024), fill);
      fill();
    };

    expect(await toldBy(endless)).toBeUndefined();
  });
});
