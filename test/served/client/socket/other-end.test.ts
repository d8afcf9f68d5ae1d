import { once } from 'node:events';
import { chownSync, symlinkSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { join } from 'node:path';
import {
  connectToSocketOf,
  connectToUser,
  NotOurs,
  ownersOf,
  type End,
} from '../../../../src/served/client/socket/other-end';
import { newFolder } from '../../../support/temp-folder';

const client: End = { address: '127.0.0.1', port: 40_000 };
const server: End = { address: '127.0.0.1', port: 8_722 };
const [rows, rows6] = ['0100007F', '0000000000000000FFFF00000100007F'].map(rowsOf) as [Rows, Rows];
type Rows = ReturnType<typeof rowsOf>;

/** Rows of a table: who listens at an address, and who has that end of the connection. */
function rowsOf(address: string) {
  const row = (local: string, remote: string, state: string, uid: number) =>
    `   0: ${local}:2212 ${remote} ${state} 00000000:00000000 00:00000000 00000000  ${uid}        0 3480056 1\n`;
  return {
    listens: (uid: number, at = address) => row(at, `${'0'.repeat(address.length)}:0000`, '0A', uid),
    taken: (uid: number) => row(address, `${address}:9C40`, '01', uid),
  };
}

describe('ownersOf', () => {
  test('tells who has taken the connection, whoever listens by then', () => {
    expect(ownersOf(server, client, rows.listens(1_000) + rows.taken(1_001))).toEqual([1_001]);
  });

  test('tells who listens, until somebody has taken it', () => {
    expect(ownersOf(server, client, rows.listens(1_001) + rows.taken(0))).toEqual([0, 1_001]);
  });

  test.each([
    ['at all addresses', rows.listens(1_001, '00000000') + rows.taken(0)],
    ['at those of IPv6, too', rows6.listens(1_001, '0'.repeat(32)) + rows6.taken(0)],
  ])('knows who listens %s', (_, tables) => {
    expect(ownersOf(server, client, tables)).toEqual([0, 1_001]);
  });

  test('reads addresses of IPv6', () => {
    const six = rowsOf('00000000000000000000000001000000');
    const [there, here] = [server, client].map((end) => ({ ...end, address: '::1' })) as [End, End];

    expect(ownersOf(there, here, six.taken(1_001))).toEqual([1_001]);
    expect(ownersOf(there, here, rows.taken(1_001))).toEqual([]);
  });

  test('tells nobody for a connection that leads elsewhere', () => {
    expect(ownersOf(server, client, rows.listens(1_000))).toEqual([]);
    expect(ownersOf(server, { ...client, port: 40_001 }, rows.taken(1_000))).toEqual([]);
  });
});

describe('connectToUser', () => {
  let listener: Server;
  let heard: string;

  beforeEach(async () => {
    heard = '';
    listener = createServer((socket) => {
      socket.on('error', () => undefined).on('data', (data) => (heard += data.toString()));
    }).listen(0, '127.0.0.1');
    await once(listener, 'listening');
  });

  afterEach(() => listener.close());

  /** What comes of an attempt, and what was said at the other end. */
  async function attempt(uid: number, host = '127.0.0.1'): Promise<Error | null> {
    const { port } = listener.address() as AddressInfo;
    return await new Promise((resolve) => {
      connectToUser({ host, port }, { uid, limitMs: 10_000 }, (error, socket) => {
        if (error === null) socket.end('token');
        resolve(error);
      });
    });
  }

  test.each(['127.0.0.1', 'localhost'])('gives the connection to a program of the user: %s', async (host) => {
    const connected = once(listener, 'connection');

    expect(await attempt(process.getuid!(), host)).toBeNull();

    const [socket] = (await connected) as [NodeJS.EventEmitter];
    await once(socket, 'end');
    expect(heard).toBe('token');
  });

  test('fails when nothing listens', async () => {
    const { port } = listener.address() as AddressInfo;
    listener.close();

    const error = await new Promise((resolve) =>
      connectToUser({ host: '127.0.0.1', port }, { uid: 1, limitMs: 10_000 }, resolve),
    );

    expect(error).toMatchObject({ code: 'ECONNREFUSED' });
    expect(error).not.toBeInstanceOf(NotOurs);
  });

  // Root's programs are anybody's.
  (process.getuid!() === 0 ? test.skip : test)('fails when a program of another user listens', async () => {
    expect(await attempt(process.getuid!() + 1)).toBeInstanceOf(NotOurs);
    expect(heard).toBe('');
  });
});

describe('connectToSocketOf', () => {
  let path: string;
  let listener: Server;
  let heard: Promise<string>;

  beforeEach(async () => {
    path = join(newFolder(), 'socket');
    listener = createServer();
    heard = once(listener, 'connection').then(async ([socket]: NodeJS.ReadableStream[]) =>
      String((await once(socket!, 'data'))[0]),
    );
    listener.listen(path);
    await once(listener, 'listening');
  });

  afterEach(() => listener.close());

  /** What comes of an attempt to say something there. */
  async function attempt(uid: number, at = path): Promise<Error | null> {
    return await new Promise((resolve) => {
      connectToSocketOf(uid, at, (error, socket) => {
        socket?.end('token');
        resolve(error);
      });
    });
  }

  test('gives the connection where the user has made the socket, also through a link', async () => {
    symlinkSync(path, `${path}.link`);

    expect(await attempt(process.getuid!(), `${path}.link`)).toBeNull();
    expect(await heard).toBe('token');
  });

  test('fails at a socket of another user, before anybody hears of it', async () => {
    const isRoot = process.getuid!() === 0;
    if (isRoot) chownSync(path, 65_534, 65_534);
    let isHeard = false;
    void heard.then(() => (isHeard = true));

    expect(await attempt(isRoot ? 1 : process.getuid!() + 1)).toBeInstanceOf(NotOurs);
    expect(isHeard).toBe(false);
  });

  test.each([
    ['is no socket', 'ENOENT', () => listener.close()],
    ['is a folder', 'ECONNREFUSED', () => (path = newFolder())],
  ])('fails where there %s', async (_what, code, change) => {
    change();

    const error = await attempt(process.getuid!());

    expect(error).toMatchObject({ code });
  });
});
