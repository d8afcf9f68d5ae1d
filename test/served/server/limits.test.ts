/** What clients that send too much, too slowly or nothing at all may take of a server. */
import { readdirSync, readlinkSync } from 'node:fs';
import * as http2 from 'node:http2';
import { connect, type Socket } from 'node:net';
import { connect as tls } from 'node:tls';
import { once } from 'node:events';
import { join } from 'node:path';
import { Tokens } from '../../../src/served/server/door';
import { Host } from '../../../src/system/host';
import { certificate } from '../../support/certificate';
import { hastened } from '../../support/hastened';
import { patienceMs } from '../../support/patience';
import { Served } from '../../support/served';

let served: Served | undefined;
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await served?.end();
  served = undefined;
});

/** How many sockets the server has. */
function openSockets({ process: { pid } }: Served): number {
  const folder = `/proc/${pid}/fd`;
  const targets = readdirSync(folder).map((fd) => {
    try {
      return readlinkSync(join(folder, fd));
    } catch {
      return '';
    }
  });
  return targets.filter((target) => target.startsWith('socket:')).length;
}

/** A client that sends this, takes the answer, and never ends its side. */
async function holding(address: string, text: string): Promise<string> {
  const { hostname, port } = new URL(address.replace('tcp:', 'http:'));
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  sockets.push(socket);
  let answer = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => (answer += chunk));
  socket.on('error', () => undefined);
  socket.write(text);
  await once(socket, 'end');
  return answer;
}

/** Resolves once the server has no more sockets than that. */
async function shrinkTo(count: number): Promise<void> {
  while (openSockets(served!) > count) await new Promise((resolve) => setImmediate(resolve));
}

test('a client that is refused cannot hold its socket', async () => {
  const listen = ['127.0.0.1:0', 'tcp://127.0.0.1:0'];
  served = await Served.start({ listen, env: hastened });
  const [http, tcp] = served.addresses as [string, string];
  const before = openSockets(served);
  const host = new URL(http).host;
  const upgrade = `GET /acp HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;

  expect(await holding(http, upgrade)).toMatch(/^HTTP\/1.1 401 /);
  expect(await holding(tcp, 'Authorization: Bearer wrong\n')).toContain('not right');
  expect(await holding(tcp, 'GET / HTTP/1.1\r\n\r\n')).toContain('first line');
  // Nothing comes for ten seconds, made one.
  expect(await holding(tcp, 'Authorization: Bea')).toContain('first line');

  await shrinkTo(before);
});

test('a client of HTTP/1.1 that begins a request by TLS and never ends it cannot hold its socket', async () => {
  const { certFile, keyFile } = certificate();
  const args = ['--tls-cert', certFile, '--tls-key', keyFile];
  served = await Served.start({ listen: ['https://127.0.0.1:0'], args });
  const client = tls({ port: Number(new URL(served.url).port), rejectUnauthorized: false });
  sockets.push(client);
  client.on('error', () => undefined).write('GET /healthz HTTP/1.1\r\nHost:');
  let answer = '';
  client.setEncoding('latin1').on('data', (chunk: string) => (answer += chunk));

  await once(client, 'close');

  expect(answer).toMatch(/^HTTP\/1\.1 408 /);
  // Node's own limit is 60 s.
}, 45_000);

test(
  'a client of HTTP/2 that asks for nothing cannot hold its socket',
  async () => {
    const { certFile, keyFile } = certificate();
    const args = ['--tls-cert', certFile, '--tls-key', keyFile];
    served = await Served.start({ listen: ['https://127.0.0.1:0'], args, env: hastened });
    const client = http2.connect(served.url, { rejectUnauthorized: false });
    const closed = once(client, 'close');
    // Whoever is slower than all may be, as on a busy machine, has lost the session by then.
    await Promise.race([once(client, 'connect'), closed]);
    // What has no token is answered, and does not keep its stream.
    const request = client.request({ ':method': 'POST', ':path': '/acp' }).on('error', () => undefined);
    // A session of Node ends when its streams are read.
    request.resume();
    const [answer] = (await Promise.race([once(request, 'response'), closed])) as unknown[];
    if (answer !== undefined) expect(answer).toMatchObject({ ':status': 401 });

    await closed;
  },
  patienceMs,
);

test('the last connections are for those who have none', async () => {
  const config = `[serve]\nconnections = 3\n[[serve.users]]\nname = "ann"\nagents = "all"\nworkspaces = "all"\n`;
  served = await Served.start({ config });
  const tokens = new Tokens(new Host({ HOME: served.home }));
  const ann = { authorization: `Bearer ${await tokens.add('ann')}` };
  const open = async (headers: Record<string, string>): Promise<number> => {
    const body = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}';
    const type = { 'content-type': 'application/json' };
    return (await fetch(`${served!.url}/acp`, { method: 'POST', headers: { ...type, ...headers }, body }))
      .status;
  };

  expect([await open(ann), await open(ann), await open(ann)]).toEqual([200, 200, 503]);
  expect([await open(served.owner), await open(served.owner)]).toEqual([200, 503]);
});

test('one connection has a limited number of streams', async () => {
  served = await Served.start();
  const body = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}';
  const type = { 'content-type': 'application/json', ...served.owner };
  const first = await fetch(`${served.url}/acp`, { method: 'POST', headers: type, body });
  const id = first.headers.get('acp-connection-id')!;
  const { hostname, port } = new URL(served.url);
  const head = {
    ...served.owner,
    host: `${hostname}:${port}`,
    accept: 'text/event-stream',
    'acp-connection-id': id,
  };
  const get = async (session: string): Promise<string> => {
    const socket = connect({ host: hostname, port: Number(port) });
    sockets.push(socket);
    const lines = Object.entries({ ...head, 'acp-session-id': session }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    socket.write(`GET /acp HTTP/1.1\r\n${lines.join('')}\r\n`);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    return answer.toString('latin1', 9, 12);
  };
  const all: string[] = [];
  for (let index = 0; index < 257; index++) all.push(await get(`session-${index}`));

  expect(all.filter((status) => status === '200')).toHaveLength(256);
  expect(all.filter((status) => status === '503')).toHaveLength(1);
});
