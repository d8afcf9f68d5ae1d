import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { join, resolve } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { listening } from '../../support/listening';
import { newFolder } from '../../support/temp-folder';

const program = resolve(__dirname, '../../../src/container/inside/join');

let server: Server | undefined;
afterEach(() => server?.close());

/** A bridge to a socket on which `serve` plays the server. */
async function given(serve: (socket: Socket) => void) {
  const path = join(newFolder(), 'socket');
  server = createServer({ allowHalfOpen: true }, serve).listen(path);
  await once(server, 'listening');
  return start(path);
}

function start(...args: string[]) {
  return startWith({}, ...args);
}

function startWith(env: NodeJS.ProcessEnv, ...args: string[]) {
  const bridge = spawn('perl', [program, ...args], { env });
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

describe('the way through a proxy', () => {
  /** A join to the server `far` by a proxy that answers with `answer`; and what the proxy gets. */
  async function through(answer: string, host = 'far.example') {
    let heard = '';
    const proxy = createServer((socket) => {
      socket.on('data', (chunk) => {
        heard += String(chunk);
        if (heard.endsWith('\r\n\r\n')) socket.write(answer);
        if (heard.endsWith('bye')) socket.end(' and bye');
      });
    });
    const port = await listening(proxy);
    const bridge = startWith({ https_proxy: `http://127.0.0.1:${port}` }, host, '22');
    const said = text(bridge.stdout);
    const complaint = text(bridge.stderr);
    bridge.stdin.end('bye');
    const [status] = (await once(bridge, 'exit')) as [number];
    return { status, said: await said, complaint: await complaint, heard };
  }

  test('is a tunnel, of which nothing is lost', async () => {
    const { status, said, heard } = await through('HTTP/1.1 200 OK\r\nX: y\r\n\r\nhello');

    expect(heard).toBe('CONNECT far.example:22 HTTP/1.1\r\nHost: far.example:22\r\n\r\nbye');
    expect([status, said]).toEqual([0, 'hello and bye']);
  });

  test('has IPv6 addresses in brackets', async () => {
    expect((await through('HTTP/1.1 200 OK\r\n\r\n', '2001:db8::1')).heard).toContain(
      'CONNECT [2001:db8::1]:22 ',
    );
  });

  test('is told why there is none', async () => {
    expect(await through('HTTP/1.1 403 cai: not allowed\r\nContent-Length: 0\r\n\r\n')).toMatchObject({
      status: 255,
      said: '',
      complaint: 'cai: not allowed\n',
    });
  });

  test.each([{}, { https_proxy: 'https://elsewhere' }])('is missing with %j', async (env) => {
    const bridge = startWith(env, 'far.example', '22');

    expect(await text(bridge.stderr)).toBe(
      'cai: there is no proxy in $https_proxy: run ssh by a command of cai\n',
    );
  });
});
