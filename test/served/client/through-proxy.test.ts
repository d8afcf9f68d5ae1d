/** `cai connect` leaves this machine by the proxy that its user has. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { proxyToServer, tunnelTo } from '../../../src/network';
import { patienceMs } from '../../support/patience';
import { certificate } from '../../support/certificate';
import { Editor } from './editor';
import { ScriptedServer } from './scripted-server';

describe('the proxy to a server', () => {
  const wss = new URL('wss://box.internal/acp');
  const proxyFor = (url: URL, env: NodeJS.ProcessEnv, network = {}): string | undefined =>
    proxyToServer(network, env, url)?.href;

  test('is that of the configuration, else that of the environment for the scheme', () => {
    const env = { https_proxy: 'http://lower:1', HTTPS_PROXY: 'http://upper:1', HTTP_PROXY: 'plain:1' };
    expect(proxyFor(wss, env, { httpsProxy: 'http://mine:1' })).toBe('http://mine:1/');
    expect(proxyFor(wss, env)).toBe('http://lower:1/');
    expect(proxyFor(new URL('ws://box.internal/acp'), env)).toBe('http://plain:1/');
  });

  test('is none for this machine, for exceptions, and where the variable is empty', () => {
    const env = { HTTPS_PROXY: 'http://p:1', NO_PROXY: '.internal' };
    expect(proxyFor(wss, env)).toBeUndefined();
    expect(proxyFor(wss, { HTTPS_PROXY: '' })).toBeUndefined();
    expect(proxyFor(new URL('wss://127.0.0.1/acp'), { HTTPS_PROXY: 'http://p:1' })).toBeUndefined();
  });

  test.each([
    ['10.20.0.0/16', '10.20.3.4', false],
    ['10.20.0.0/16', '10.21.3.4', true],
    ['10.20.0.0/16', '10.20.example', true],
    ['fd00::/8', '[fd12::1]', false],
    ['10.20.0.0/99', '10.20.3.4', true],
  ])('with the exception of %s and a server at %s, is there: %s', (range, host, isThere) => {
    const env = { HTTPS_PROXY: 'http://p:1', NO_PROXY: `localhost, ${range}` };
    expect(proxyFor(new URL(`wss://${host}/acp`), env)).toBe(isThere ? 'http://p:1/' : undefined);
  });
});

test.each(['http://[', 'http://user:%zz@proxy:1', 'socks5://127.0.0.1:1'])(
  'HTTPS_PROXY=%s is told, and what to do',
  async (value) => {
    const editor = new Editor(['wss://box.internal'], { HTTPS_PROXY: value });

    expect(await editor.ended()).toBe(2);
    const { stderr } = editor;
    expect(stderr).toMatch(/^cai: HTTPS_PROXY is not the address of an HTTP proxy.*unset it/);
    expect(stderr).not.toContain(value);
  },
);

/** A proxy that does so with each request for a tunnel, and its address. */
async function proxyThat(act: (socket: Socket) => void): Promise<{ proxy: Server; way: string }> {
  const proxy = createServer().on('connect', (_request, socket: Socket) => act(socket));
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  return { proxy, way: `127.0.0.1:${(proxy.address() as AddressInfo).port}` };
}

const place = { host: 'box.internal', port: 443 };

test('nothing is lost that comes with the answer of a proxy', async () => {
  const { proxy, way } = await proxyThat((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nfirst'));

  const { socket } = await tunnelTo(place, new URL(`http://${way}`), AbortSignal.timeout(patienceMs));

  expect(await text(socket)).toBe('first');
  proxy.close();
});

test.each<[string, (socket: Socket) => void, RegExp]>([
  [
    'refuses',
    (socket) => socket.end('HTTP/1.1 407 No\r\n\r\n'),
    /answers with status 407 for box\.internal:443/,
  ],
  ['hangs up', (socket) => void socket.destroy(), /cannot be used: .*socket hang up/],
])('a proxy that %s is named', async (_, act, words) => {
  const { proxy, way } = await proxyThat(act);

  const tunnel = tunnelTo(place, new URL(`http://${way}`), AbortSignal.timeout(patienceMs));

  await expect(tunnel).rejects.toThrow(`the proxy of this machine, ${way}, `);
  await expect(tunnel).rejects.toThrow(words);
  proxy.close();
});

describe('behind a proxy', () => {
  const { certFile, keyFile } = certificate('box.internal');
  let server: ScriptedServer;
  let proxy: Server;
  let editor: Editor;
  const asked: string[] = [];
  const sockets: Socket[] = [];
  afterEach(async () => {
    editor.process.kill('SIGKILL');
    await editor.ended();
    for (const socket of sockets) socket.destroy();
    proxy.close();
    await server.close();
  });

  test('a server with TLS is reached by its name through a tunnel', async () => {
    const tls = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
    server = new ScriptedServer({ tls, onMessage: (to, message) => to.answer(message, { seen: true }) });
    const port = await server.listen();
    proxy = createServer().on('connect', ({ url }, from: Socket) => {
      asked.push(url!);
      const to = connect(port, '127.0.0.1', () => {
        from.write('HTTP/1.1 200 OK\r\n\r\n');
        from.pipe(to).pipe(from);
      });
      for (const socket of [from, to]) sockets.push(socket.on('error', () => undefined));
    });
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    const way = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    editor = new Editor(['wss://box.internal'], { HTTPS_PROXY: way }, `[network]\nca_file = "${certFile}"\n`);

    expect(await editor.request('initialize', { protocolVersion: 1 })).toHaveProperty('result.seen', true);
    expect(asked).toEqual(['box.internal:443']);
  });
});
