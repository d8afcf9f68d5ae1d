import { once } from 'node:events';
import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import * as http2 from 'node:http2';
import * as https from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import { certificate } from '../../support/certificate';
import { Served, servedInEachTest } from '../../support/served';
import { newFolder } from '../../support/temp-folder';

const start = servedInEachTest();

describe('HTTP/2 over TLS', () => {
  const { cert, certFile, keyFile } = certificate();
  const args = ['--tls-cert', certFile, '--tls-key', keyFile];
  let server: Served;
  let session: http2.ClientHttp2Session;
  let headers: http2.OutgoingHttpHeaders;
  beforeAll(
    async () => (server = await Served.start({ listen: ['https://127.0.0.1:0', 'tls://127.0.0.1:0'], args })),
  );
  afterAll(() => server.end());
  beforeEach(() => {
    session = http2.connect(server.url, { ca: cert });
    headers = { ...server.owner };
  });
  afterEach(() => session.destroy());

  /** Sends a request; resolves with its answer once the headers are there. */
  async function send(method: string, more: http2.OutgoingHttpHeaders, body?: string) {
    const stream = session.request({ ':method': method, ':path': '/acp', ...headers, ...more });
    stream.end(body);
    const [answer] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders];
    return { status: answer[':status'], answer, stream };
  }

  test('refuses as HTTP/1.1 does, which is there, too', async () => {
    expect((await send('POST', { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await send('GET', {})).status).toBe(406);
    const asked = https.get(`${server.url}/healthz`, { ca: cert });
    const [response] = (await once(asked, 'response')) as [{ statusCode: number; httpVersion: string }];
    expect([response.statusCode, response.httpVersion]).toEqual([200, '1.1']);
  });

  test('takes an option instead of its setting, and the other settings', async () => {
    const config = `[serve]\ntls_cert = "/not/there"\ntls_key = "${keyFile}"\n`;
    const { url } = await start({ listen: ['https://127.0.0.1:0'], args: args.slice(0, 2), config });
    const asked = https.get(`${url}/healthz`, { ca: cert, agent: false });
    const [response] = (await once(asked, 'response')) as [{ statusCode: number }];

    expect(response.statusCode).toBe(200);
  });

  test('has WebSockets', async () => {
    const socket = new WebSocket(`${server.url.replace('https', 'wss')}/acp`, {
      headers: server.owner,
      ca: cert,
    });
    await once(socket, 'open');
    socket.close();
    await once(socket, 'close');
  });
});

describe('a Unix socket', () => {
  test('is for its user alone, and speaks HTTP', async () => {
    const server = await start({ listen: ['unix:HOME/run/s.sock'] });
    const path = server.url.replace('unix:', '');
    const asked = request({ socketPath: path, path: '/metrics' });
    asked.end();
    const [response] = (await once(asked, 'response')) as [{ statusCode: number }];

    expect(response.statusCode).toBe(200);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(path, '..')).mode & 0o777).toBe(0o700);
  });

  test('in a folder that others can enter is refused', async () => {
    const folder = newFolder();
    chmodSync(folder, 0o755);

    await expect(start({ listen: [`unix:${folder}/s.sock`] })).rejects.toThrow('can be entered by others');
  });

  test('of a server that is gone is taken, and of one that listens is not', async () => {
    const path = join(newFolder(), 's.sock');
    const first = await start({ listen: [`unix:${path}`] });
    await expect(start({ listen: [`unix:${path}`] })).rejects.toThrow('another cai serve listens on');
    first.process.kill('SIGKILL');
    await once(first.process, 'close');

    expect((await start({ listen: [`unix:${path}`] })).url).toBe(`unix:${path}`);
  });

  test('does not take the place of a file', async () => {
    const folder = newFolder();
    mkdirSync(join(folder, 'own'), { mode: 0o700 });
    writeFileSync(join(folder, 'own/file'), '');

    await expect(start({ listen: [`unix:${folder}/own/file`] })).rejects.toThrow('is no socket');
  });
});

test('a port that another program has is refused', async () => {
  const { url } = await start({});

  await expect(start({ listen: [url] })).rejects.toThrow('another program listens there');
});

test.each(['https://127.0.0.1:0', 'tls://127.0.0.1:0'])('%s needs a certificate', async (listen) => {
  await expect(start({ listen: [listen] })).rejects.toThrow('need a certificate');
});

test('ends with status 0, also if somebody has opened a socket and says nothing', async () => {
  const server = await start({});
  const silent = connect(Number(new URL(server.url).port), '127.0.0.1').on('error', () => undefined);
  await once(silent, 'connect');

  expect(await server.end()).toBe(0);
  if (!silent.destroyed) await once(silent, 'close');
});

test('after a bug it tells its clients that it ends, and ends with status 1', async () => {
  const bug = join(newFolder(), 'bug.cjs');
  writeFileSync(bug, "process.on('SIGUSR2', () => { throw new Error('a bug'); });");
  const server = await start({ env: { NODE_OPTIONS: `--require "${bug}"` } });
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/acp`, { headers: server.owner });
  await once(socket, 'open');
  server.process.kill('SIGUSR2');

  expect((await once(socket, 'close'))[0]).toBe(1001);
  expect((await once(server.process, 'close'))[0]).toBe(1);
  expect(server.stderr).toContain('internal error: the server is ended');
});

/** Answers `initialize` and `session/new`, and does not end before it is killed. */
const staying = `
  process.on('SIGTERM', () => undefined);
  setInterval(() => undefined, 1000);
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const result = { protocolVersion: 1, sessionId: 's' };
    process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(line).id, result }) + '\\n');
  });
`;

test('while it ends it takes nobody more, neither by a new socket nor by one that is open', async () => {
  const agents = { staying: [process.execPath, '-e', staying] };
  const server = await start({ agents, listen: ['127.0.0.1:0', 'tcp://127.0.0.1:0'] });
  const [http, tcp] = server.addresses.map((each) => Number(each.split(':').pop())) as [number, number];
  const socket = new WebSocket(`ws://127.0.0.1:${http}/acp`, { headers: server.owner });
  await once(socket, 'open');
  const messages = [
    { id: 1, method: 'initialize', params: { protocolVersion: 1 } },
    { id: 2, method: 'session/new', params: { cwd: server.workspace('a'), mcpServers: [] } },
  ];
  for (const message of messages) {
    socket.send(JSON.stringify({ jsonrpc: '2.0', ...message }));
    while (!String((await once(socket, 'message'))[0]).includes(`"id":${message.id}`));
  }
  const opened = [http, http, tcp].map((port) => connect(port, '127.0.0.1'));
  await Promise.all(opened.map((each) => once(each, 'connect')));
  // Those are taken once one that came later is.
  await fetch(`${server.url}/healthz`);
  const later = connect(tcp, '127.0.0.1').on('error', () => undefined);
  later.write('?\n');
  await once(later.resume(), 'end');
  server.process.kill('SIGTERM');
  expect((await once(socket, 'close'))[0]).toBe(1001);

  const [asking, upgrading, plain] = opened.map(async (each) => {
    let text = '';
    for await (const chunk of each.setEncoding('utf8')) text += String(chunk);
    return text;
  });
  const headers = `Host: 127.0.0.1:${http}\r\nAuthorization: ${server.owner.authorization}\r\n`;
  const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n';
  opened[0]!.write(`GET /metrics HTTP/1.1\r\n${headers}\r\n`);
  opened[1]!.write(`GET /acp HTTP/1.1\r\n${headers}${upgrade}Sec-WebSocket-Key: ${'A'.repeat(22)}==\r\n\r\n`);
  opened[2]!.write(`Authorization: ${server.owner.authorization}\n`);
  await expect(once(connect(http, '127.0.0.1'), 'connect')).rejects.toThrow('ECONNREFUSED');
  expect(await asking).toMatch(/^HTTP\/1.1 503 .*this server is being ended/s);
  expect(await upgrading).toMatch(/^HTTP\/1.1 503 .*this server is being ended\n$/s);
  expect(await plain).toBe('503 this server is being ended\n');
});

test('it goes on when sockets cannot be taken, and its log says so', async () => {
  const full = join(newFolder(), 'full.cjs');
  writeFileSync(
    full,
    `const { Server } = require('node:net');
    const { listen } = Server.prototype;
    Server.prototype.listen = function (...args) {
      const fail = () => this.emit('error', new Error('accept EMFILE'));
      process.on('SIGUSR2', () => (fail(), fail()));
      return listen.apply(this, args);
    };`,
  );
  const server = await start({ env: { NODE_OPTIONS: `--require "${full}"` } });
  server.process.kill('SIGUSR2');
  const said = server.said(/could not be taken.*\n.*could not be taken/);
  await Promise.race([said, once(server.process, 'exit')]);

  expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
});
