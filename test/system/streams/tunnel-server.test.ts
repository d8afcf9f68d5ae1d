import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { PassThrough, type Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { openTunnelServer } from '../../../src/system/streams/tunnel-server';

/** Opens a server on a port that is free. */
async function opened(reach: () => Promise<Duplex>) {
  let unanswered = 0;
  const server = await openTunnelServer(0, reach, () => unanswered++);
  const { address, port } = server.address() as AddressInfo;
  return { server, address, port, unanswered: () => unanswered };
}

describe('openTunnelServer', () => {
  test('joins each connection with a stream of its own, both ways, to the end of each', async () => {
    const { server, address, port } = await opened(() => Promise.resolve(new PassThrough()));

    const sockets = ['one', 'two'].map((word) =>
      connect({ port, host: address, allowHalfOpen: true }).end(word),
    );

    expect(await Promise.all(sockets.map((socket) => text(socket)))).toEqual(['one', 'two']);
    expect(address).toBe('127.0.0.1');
    server.close();
  });

  test('closes a connection that leads nowhere, and tells', async () => {
    const { server, port, unanswered } = await opened(() => Promise.reject(new Error('nobody')));

    const socket = connect(port, '127.0.0.1').resume();
    await once(socket, 'close');

    expect(unanswered()).toBe(1);
    server.close();
  });

  test('rejects for a port that is in use', async () => {
    const { server, port } = await opened(() => Promise.resolve(new PassThrough()));

    const second = openTunnelServer(
      port,
      () => new Promise(() => undefined),
      () => undefined,
    );

    await expect(second).rejects.toMatchObject({ code: 'EADDRINUSE' });
    server.close();
  });
});
