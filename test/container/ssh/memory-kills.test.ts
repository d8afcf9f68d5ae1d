import { memoryKills } from '../../../src/container/ssh/memory-kills';
import { SshConnection } from '../../../src/container/ssh/ssh';
import { startServer } from './ssh-server';
import type { Played, SshServer } from './ssh-server';

let server: SshServer;
let connection: SshConnection;

afterEach(() => {
  connection.destroy();
  server.close();
});

async function killsToldBy(play: (command: Played) => void): Promise<number> {
  server = await startServer(play);
  connection = await SshConnection.open(server.target);
  return await memoryKills(connection);
}

function answer(text: string): (command: Played) => void {
  return ({ channel }) => {
    channel.write(`\0${text}`);
    channel.exit(0);
    channel.end();
  };
}

describe('memoryKills', () => {
  test.each([
    ['the second version of control groups', 'low 0\noom 5\noom_kill 3\noom_group_kill 1\n', 3],
    ['the first', 'oom_kill_disable 0\nunder_oom 0\noom_kill 12\n', 12],
    ['neither', '', 0],
  ])('reads the counter of %s', async (_, text, count) => {
    expect(await killsToldBy(answer(text))).toBe(count);
  });

  test('reads no more than it may from a container that does not stop', async () => {
    const endless = ({ channel }: Played) => {
      channel.write('\0oom_kill 7\n');
      const fill = () => channel.writable && channel.write('x'.repeat(32 * 1024), fill);
      fill();
    };

    expect(await killsToldBy(endless)).toBe(0);
  });
});
