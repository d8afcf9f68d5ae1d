import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { join, resolve } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { newFolder } from '../../support/temp-folder';

const program = resolve(__dirname, '../../../src/container/inside/mcp-bridge');

let server: Server | undefined;
afterEach(() => server?.close());

/** A bridge to a socket on which `serve` plays the server. */
async function given(serve: (socket: Socket) => void) {
  const path = join(newFolder(), 'socket');
  server = createServer({ allowHalfOpen: true }, serve).listen(path);
  await once(server, 'listening');
  return start(path);
}

function start(path: string) {
  const bridge = spawn('perl', [program, path]);
  bridge.stdin.on('error', () => undefined);
  return bridge;
}

describe('the bridge', () => {
  test('passes the end of input on, and what is said after it', async () => {
    const bridge = await given((socket) => {
      let heard = '';
      socket.on('data', (chunk) => (heard += String(chunk))).on('end', () => socket.end(`heard ${heard}`));
    });

    bridge.stdin.end('hello');

    expect(await text(bridge.stdout)).toBe('heard hello');
    if (bridge.exitCode === null) await once(bridge, 'exit');
    expect(bridge.exitCode).toBe(0);
  });

  test('carries much in both directions at once', async () => {
    const bridge = await given((socket) => socket.pipe(socket));
    const sent = Buffer.alloc(8 * 2 ** 20, 'abcdefg');

    bridge.stdin.end(sent);

    expect((await buffer(bridge.stdout)).equals(sent)).toBe(true);
  });

  test('ends with the server, though its input is open', async () => {
    const bridge = await given((socket) => socket.end('bye'));

    expect(await text(bridge.stdout)).toBe('bye');
    if (bridge.exitCode === null) await once(bridge, 'exit');
    expect(bridge.exitCode).toBe(0);
  });

  test('ends the connection when nobody reads it', async () => {
    const ended = new Promise<void>((resolve) => {
      void given((socket) => {
        socket.on('error', () => undefined).on('close', () => resolve());
        const timer = setInterval(() => socket.write('x'.repeat(10_000)), 5);
        socket.on('close', () => clearInterval(timer));
      }).then((bridge) => bridge.stdout.destroy());
    });

    await ended;
  });

  test('waits for a socket that comes later', async () => {
    const path = join(newFolder(), 'socket');
    const bridge = start(path);
    await once(bridge, 'spawn');
    server = createServer((socket) => socket.end('late')).listen(path);

    expect(await text(bridge.stdout)).toBe('late');
  });
});
