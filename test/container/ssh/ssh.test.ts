import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { newHostKey } from '../../../src/container/ssh/keys';
import { SshConnection } from '../../../src/container/ssh/ssh';
import { listening } from '../../support/listening';
import { startServer, toPort, type Played, type SshServer } from './ssh-server';
import { expectedError } from '../../expected-error';

let server: SshServer | undefined;
const connections: SshConnection[] = [];

afterEach(() => {
  connections.splice(0).forEach((connection) => connection.destroy());
  server?.close();
  server = undefined;
});

async function given(play: (command: Played) => void): Promise<SshConnection> {
  server = await startServer(play);
  return await open(server);
}

async function open({ target }: SshServer): Promise<SshConnection> {
  const connection = await SshConnection.open(target);
  connections.push(connection);
  return connection;
}

const targetAt = (port: number, hostKey = ''): SshServer['target'] => ({
  connect: () => toPort(port),
  hostKey,
  privateKey: newHostKey().privateKey,
  container: 'cai-test',
  lookCommand: 'docker logs cai-test',
});

const command = { argv: ['run', 'me'], cwd: '/', env: [] } as const;

describe('open', () => {
  test('refuses a server with another host key, and says what to do', async () => {
    server = await startServer(() => undefined);
    const hostKey = newHostKey().fingerprint;

    await expect(SshConnection.open({ ...server.target, hostKey })).rejects.toMatchObject(
      expectedError('HOST_KEY', /cai-test.*cai rm/),
    );
  });

  test('says so when the server does not take our key', async () => {
    server = await startServer(() => undefined, { isLocked: true });

    await expect(SshConnection.open(server.target)).rejects.toMatchObject(
      expectedError('SSH_CONNECT', /does not accept our SSH key.*cai rm/),
    );
  });

  test.each([
    ['anything', ''],
    ['more than its name', 'SSH-2.0-OpenSSH_9.2\r\n'],
  ])('waits for a server that is not there yet, or closes before it has said %s', async (_, words) => {
    const early = createServer((socket) =>
      socket
        .on('error', () => undefined)
        .resume()
        .end(words),
    );
    const port = await listening(early);
    const key = newHostKey();

    const opening = SshConnection.open(targetAt(port, key.fingerprint));
    await once(early, 'connection');
    early.close();
    await once(early, 'close');
    server = await startServer(() => undefined, { port, key });

    connections.push(await opening);
  });

  test('gives up in time, and names the container', async () => {
    const closed = createServer();
    const port = await listening(closed);
    closed.close();

    await expect(SshConnection.open(targetAt(port), 100)).rejects.toMatchObject(
      expectedError('SSH_CONNECT', /cai-test.*ECONNREFUSED.*docker logs.*cai rm/),
    );
  });

  test('gives up in time on a server that never speaks', async () => {
    const port = await listening(createServer());

    await expect(SshConnection.open(targetAt(port), 200)).rejects.toMatchObject({ code: 'SSH_CONNECT' });
  });
});

describe('a server that sends more than there is room for', () => {
  test('loses the connection, with the reason, when nobody reads', async () => {
    const connection = await given(({ channel, connection: ssh }) => {
      channel.write('\0');
      const { outgoing } = channel as unknown as { readonly outgoing: { readonly id: number } };
      const { _protocol } = ssh as unknown as {
        readonly _protocol: { channelData(id: number, data: Buffer): void };
      };
      for (let kept = 0; kept <= 4 * 2 ** 20; kept += 2 ** 15)
        _protocol.channelData(outgoing.id, Buffer.alloc(2 ** 15));
    });

    const { stdout, exited } = await connection.run(command);

    const lost = expectedError('SSH_CONNECT', /cai-test.*sent more than it had room for.*--fresh/);
    expect(await connection.lost).toMatchObject(lost);
    await expect(exited).rejects.toMatchObject(lost);
    expect(stdout.readableLength).toBeLessThan(3 * 2 ** 20);
  });
});

describe('many tunnels', () => {
  test('together hold little of what waits to be sent, and lose none of it', async () => {
    server = await startServer(() => undefined);
    const { target } = server;
    let stream: Duplex | undefined;
    const connection = await open({
      ...server,
      target: { ...target, connect: async () => (stream = await target.connect()) },
    });
    const tunnels = await Promise.all(Array.from({ length: 30 }, () => connection.openTunnel(2)));

    stream!.cork();
    const chunks = tunnels.flatMap((tunnel) => Array.from({ length: 16 }, () => [tunnel, Buffer.alloc(2 ** 15)] as const)); // prettier-ignore
    const taken = chunks.map(
      async ([tunnel, chunk]) =>
        await new Promise<unknown>((resolve) => tunnel.write(chunk, (error) => resolve(error ?? undefined))),
    );
    await setImmediate();
    const heldBytes = stream!.writableLength;
    stream!.uncork();

    expect(heldBytes).toBeLessThan(2 ** 20);
    expect(await Promise.all(taken)).toEqual(chunks.map(() => undefined));
  });
});

describe('run', () => {
  test('sends the command, then stdin, and gives output and status', async () => {
    const connection = await given(({ argv, channel }) => {
      channel.write(`\0${argv.join()}:`);
      channel.stderr.write('error');
      channel.pipe(channel, { end: false });
      channel.on('end', () => {
        channel.exit(9);
        channel.end();
      });
    });

    const process = await connection.run(command);
    process.stdin.end('input');

    expect(await text(process.stdout)).toBe('run,me:input');
    expect(await text(process.stderr)).toBe('error');
    expect(await process.exited).toEqual({ status: 9 });
  });

  test('gives 128 + N for a command that signal N ended', async () => {
    const connection = await given(({ channel }) => {
      channel.write('\0');
      channel.exit('SEGV', false, '');
      channel.end();
    });

    const process = await connection.run(command);

    expect(await process.exited).toEqual({ status: 139 });
  });

  test('is over when the output has arrived, though nobody has read it', async () => {
    const connection = await given(({ channel }) => {
      channel.write(Buffer.alloc(1_000_000));
      channel.exit(0);
      channel.end();
    });

    const process = await connection.run(command);
    await process.exited;

    // One of the NUL bytes said that the supervisor was ready.
    expect(await buffer(process.stdout)).toHaveLength(999_999);
  });

  test('fails before anything is sent for text that cannot be passed on', async () => {
    const connection = await given(() => undefined);

    await expect(connection.run({ ...command, argv: ['\0'] })).rejects.toMatchObject({ code: 'USAGE' });
  });

  test('fails on a connection that has ended', async () => {
    const connection = await given(() => undefined);
    await connection.end();
    server?.close();

    await expect(connection.run(command)).rejects.toMatchObject({ code: 'SSH_CONNECT' });
  });
});

describe('a connection', () => {
  test('that is lost says so, to itself and to its commands', async () => {
    const connection = await given(({ channel, connection: itself }) => {
      channel.write('\0');
      channel.on('data', () => itself.end());
    });
    const process = await connection.run(command);

    process.stdin.write('!');

    await expect(process.exited).rejects.toMatchObject({ code: 'SSH_CONNECT' });
    expect(await connection.lost).toMatchObject(expectedError('SSH_CONNECT', 'cai-test'));
    expect(await text(process.stdout)).toBe('');
  });

  test('that is lost leaves no status, because output may be missing', async () => {
    const connection = await given(({ channel, connection: itself }) => {
      channel.write('\0');
      channel.exit(0);
      channel.on('data', () => itself.end());
    });
    const process = await connection.run(command);

    process.stdin.write('!');

    await expect(process.exited).rejects.toMatchObject({ code: 'SSH_CONNECT' });
  });

  test('that we end is not lost, and ends its commands', async () => {
    const connection = await given(({ channel }) => channel.write('\0'));
    const process = await connection.run(command);
    let isLost = false;
    void connection.lost.then(() => (isLost = true));

    await connection.end();

    await expect(process.exited).rejects.toMatchObject({ code: 'SSH_CONNECT' });
    expect(isLost).toBe(false);
  });

  test('that we end has left when its end is told', async () => {
    const { target } = (server = await startServer(() => undefined));
    const stream = await target.connect();
    const connection = await SshConnection.open({ ...target, connect: () => Promise.resolve(stream) });
    // As over a WebSocket, what is written leaves later.
    let left = 0;
    const write = stream._write.bind(stream);
    stream._write = (chunk, encoding, done) =>
      void setImmediate().then(() =>
        write(chunk, encoding, (error) => {
          left++;
          done(error);
        }),
      );
    Object.assign(stream, { _writev: undefined });

    await connection.end();

    expect(left).toBeGreaterThan(0);
    // Whoever has ended it already need not wait.
    await connection.end();
  });

  test('that we end does not wait for long for who does not read', async () => {
    const { target } = (server = await startServer(() => undefined));
    const stream = await target.connect();
    const connection = await SshConnection.open({ ...target, connect: () => Promise.resolve(stream) });
    stream._write = () => undefined;
    Object.assign(stream, { _writev: undefined });

    await connection.end();

    expect(stream.destroyed).toBe(true);
  });
});

describe('openTunnel', () => {
  test('reaches a port on the loopback address', async () => {
    const connection = await given(() => undefined);

    expect(await text(await connection.openTunnel(8080))).toBe('127.0.0.1:8080');
  });

  test('names the port that cannot be reached', async () => {
    const connection = await given(() => undefined);

    await expect(connection.openTunnel(1)).rejects.toMatchObject(
      expectedError('SSH_CONNECT', 'port 1 of container "cai-test"'),
    );
  });
});

describe('listen', () => {
  test('takes what comes at the port that was asked for, and nothing else', async () => {
    const connection = await given(() => undefined);

    const stream = await new Promise<Duplex>((resolve) => void connection.listen(8080, resolve));

    expect(await text(stream)).toBe('from tcpip-forward');
    while (!server!.log.some((line) => line.startsWith('stranger:'))) await setImmediate();
    expect(server!.log).toContainEqual(expect.stringMatching(/^stranger: Error/));
  });

  test('takes what comes at a socket', async () => {
    const connection = await given(() => undefined);

    const stream = await new Promise<Duplex>((resolve) => void connection.listen('/tmp/socket', resolve));

    expect(await text(stream)).toBe('from streamlocal-forward@openssh.com');
  });

  test('names the port that cannot be listened on', async () => {
    const connection = await given(() => undefined);

    await expect(connection.listen(1, () => undefined)).rejects.toMatchObject(
      expectedError('SSH_CONNECT', 'port 1 of container "cai-test"'),
    );
    expect(connection.isOver).toBe(false);
  });
});
