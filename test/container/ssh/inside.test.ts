import { PassThrough } from 'node:stream';
import { diskWarning, limitedText, memoryKills, shortageWarning } from '../../../src/container/ssh/inside';
import { SshConnection } from '../../../src/container/ssh/ssh';
import { startServer, type Played, type SshServer } from './ssh-server';

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

const failure = (message: string) => expect.objectContaining({ code: 'SSH_CONNECT', message: expect.stringContaining(message) as string }) as Error; // prettier-ignore

describe('limitedText', () => {
  test('gives all of a short answer, wherever its bytes are parted', async () => {
    const stream = new PassThrough();
    const bytes = Buffer.from('grün\n');
    stream.write(bytes.subarray(0, 3));
    stream.end(bytes.subarray(3));

    expect(await limitedText(stream)).toBe('grün\n');
  });

  test('takes 64 KiB, and stops at one byte more', async () => {
    const most = new PassThrough();
    most.end('x'.repeat(64 * 1024));
    expect(await limitedText(most)).toHaveLength(64 * 1024);

    const endless = new PassThrough();
    endless.write('x'.repeat(64 * 1024 + 1));
    await expect(limitedText(endless)).rejects.toEqual(failure('more than 65536 bytes'));
    expect(endless.destroyed).toBe(true);
  });

  test('waits no longer than it may', async () => {
    await expect(limitedText(new PassThrough(), 20)).rejects.toEqual(failure('no answer in 0.02 s'));
  });
});

describe('shortageWarning', () => {
  test('tells what happens after the first count, and then when it has doubled', () => {
    const warning = shortageWarning('memory');
    const told = ['7', '7', '8', '9', '10', '11', '12', '17', '0', 'x'].map(
      (words) => warning(words) && words,
    );

    expect(told).toEqual([
      undefined,
      undefined,
      '8',
      '9',
      undefined,
      '11',
      undefined,
      '17',
      undefined,
      undefined,
    ]);
  });

  test.each([
    ['memory', /run out of memory/, /`container\.memory`/],
    ['processes', /could start no more/, /`container\.pids`/],
  ] as const)('names what to raise: %s', (what, title, description) => {
    const warning = shortageWarning(what);
    warning('0');

    expect(warning('1')).toEqual({
      kind: 'warning',
      title: expect.stringMatching(title) as string,
      description: expect.stringMatching(description) as string,
    });
  });
});

describe('diskWarning', () => {
  it.each([
    ['80', 67108864, /80 % of the 64 MiB/, /is used up, any process that writes there is ended/],
    ['100', 21474836480, /used up the 20\.0 GiB/, /Until it has less/],
    // The watcher of an earlier version says a budget, too.
    ['100 5', 67108864, /used up the 64 MiB/, /Until it has less/],
  ])('tells of %j', (words, bytes, title, description) => {
    expect(diskWarning(words, bytes)).toEqual({
      kind: 'warning',
      title: expect.stringMatching(title) as string,
      description: expect.stringMatching(description) as string,
    });
  });

  it.each(['0', '', '90', '800', '1000', ' 80', 'x 80'])('tells nothing of %j', (words) => {
    expect(diskWarning(words, 67108864)).toBeUndefined();
  });

  it('tells nothing of a container without a budget', () => {
    expect(diskWarning('100 123456789', undefined)).toBeUndefined();
  });
});
