/** What hostile clients and servers do to the proxy of a container. */
import { once } from 'node:events';
import http from 'node:http';
import { connect, createServer } from 'node:net';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { HostNetwork } from '../../../src/config/config';
import { Dialler } from '../../../src/network/egress/dial';
import { Policy } from '../../../src/network/egress/policy';
import { EgressProxy } from '../../../src/network/egress/proxy';
import { listening } from '../../support/listening';

/** A proxy for which `site.example` is this machine, and allowed at each port. */
function proxyFor(network: HostNetwork = {}): EgressProxy {
  const policy = new Policy({
    network: { egress: 'listed', allow: ['site.example:*'], deny: [] },
    listed: [],
    telemetry: [],
    isMachine: () => false,
    decisions: () => ({ allow: [], deny: [] }),
    ask: undefined,
    note: () => undefined,
  });
  return new EgressProxy(policy, new Dialler(policy, network, ['site.example:127.0.0.1']), () => undefined);
}

/** The port of such a proxy. */
async function given(network?: HostNetwork): Promise<number> {
  const proxy = proxyFor(network);
  return await listening(createServer({ allowHalfOpen: true }, (socket) => proxy.take(socket)));
}

/** What the proxy says to these bytes, until it ends the connection. */
async function exchange(port: number, sent: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined).write(sent, 'latin1');
  return await text(socket);
}

/** A server that takes note of the requests that it sees, and answers each. */
async function site(): Promise<{ port: number; seen: string[] }> {
  const seen: string[] = [];
  const server = http.createServer((request, response) => {
    void text(request).then((body) => {
      seen.push(`${request.method} ${request.url} ${request.headers.host} ${JSON.stringify(body)}`);
      response.end('answer');
    });
  });
  return { port: await listening(server), seen };
}

const smuggled = 'GET http://denied.example/secret HTTP/1.1\r\nHost: denied.example\r\n\r\n';
const chunk = `${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`;
/** As many headers as are read of a message unless one says otherwise. */
const many = 'a:b\r\n'.repeat(2_100);

describe('a body', () => {
  const length = `Content-Length: ${smuggled.length}\r\n`;
  const chunked = 'Transfer-Encoding: chunked\r\n';
  const framings = [
    ['GET', 'a length', length, smuggled],
    ['GET', 'chunks', chunked, chunk],
    ['DELETE', 'chunks', chunked, chunk],
    ['GET', 'chunks that are compressed', 'Transfer-Encoding: gzip, chunked\r\n', chunk],
    ['POST', 'a length', length, smuggled],
    ['GET', 'a length for one connection', `Connection: content-length\r\n${length}`, smuggled],
    ['GET', 'chunks for one connection', `Connection: transfer-encoding\r\n${chunked}`, chunk],
    ['GET', 'a length behind many headers', many + length, smuggled],
    ['GET', 'chunks behind many headers', many + chunked, chunk],
  ] as const;

  test.each(framings)('of %s with %s stays a body', async (method, _what, headers, body) => {
    const { port, seen } = await site();
    const place = `site.example:${port}`;

    await exchange(
      await given(),
      `${method} http://${place}/ HTTP/1.1\r\nHost: x\r\n${headers}Connection: close\r\n\r\n${body}`,
    );

    expect(seen).toEqual([`${method} / ${place} ${JSON.stringify(smuggled)}`]);
  });
});

describe('a request that two readers could read in two ways', () => {
  test.each([
    ['two lengths', 'Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx'],
    ['a length and chunks', `Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}`],
    ['chunks in between', 'Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n'],
    ['a space before the colon', 'Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n'],
    ['a bare LF', 'X-One: 1\nHost: denied.example\r\n\r\n'],
    ['a bare CR', 'X-One: 1\rHost: denied.example\r\n\r\n'],
    ['a NUL', 'X-One: 1\0\r\n\r\n'],
    ['a name with a space', 'X One: 1\r\n\r\n'],
  ])('is refused: %s', async (_what, rest) => {
    const { port, seen } = await site();

    const said = await exchange(
      await given(),
      `POST http://site.example:${port}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${rest}`,
    );

    expect(said).toMatch(/^HTTP\/1\.1 400 /);
    expect(seen).toEqual([]);
  });

  test('is one where a header is folded, which stays one header', async () => {
    const { port, seen } = await site();

    const said = await exchange(
      await given(),
      `GET http://site.example:${port}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-One: 1\r\n Host: denied.example\r\n\r\n`,
    );

    if (seen.length > 0) expect(seen).toEqual([`GET / site.example:${port} ""`]);
    else expect(said).toMatch(/^HTTP\/1\.1 400 /);
  });
});

describe('a server', () => {
  test.each([
    'HTTP/1.1 999 x\r\nContent-Length: 0\r\n\r\n',
    'HTTP/1.1 200 a\u0000b\r\n\r\n',
    'HTTP/1.1 200 OK\r\nX-One: a\u0001b\r\n\r\n',
    'HTTP/1.1 200 OK\r\nX-One: a\rb: c\r\n\r\n',
    'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\nrest',
    'HTTP/1.1 101 Switching Protocols\r\n\r\n',
    'HTTP/1.1 100 Continue\r\n\r\n',
    'HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n12345',
    'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n123456789',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    `HTTP/1.1 200 OK\r\nX-Long: ${'x'.repeat(200_000)}\r\n\r\n`,
    'nonsense\r\n\r\n',
    '',
  ])('that answers %.60j is heard without harm', async (answer) => {
    const port = await listening(
      createServer((socket) => {
        socket.on('error', () => undefined);
        socket.once('data', () => socket.end(answer, 'latin1'));
      }),
    );
    const proxy = await given();
    const head = `http://site.example:${port}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;

    const said = await exchange(proxy, `GET ${head}`);

    expect(said).toMatch(/^(?:HTTP\/1\.1 |$)/);
    expect(
      await exchange(proxy, `POST http://denied.example/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`),
    ).toMatch(/ 403 /);
  });
});

test('a tunnel that is asked for while an answer is outstanding does no harm', async () => {
  const port = await listening(createServer((socket) => void socket.on('error', () => undefined)));
  const proxy = await given();
  const get = `GET http://site.example:${port}/ HTTP/1.1\r\nHost: x\r\n\r\n`;

  const said = await exchange(proxy, `${get}CONNECT denied.example:443 HTTP/1.1\r\nHost: x\r\n\r\n${get}`);

  expect(said).toMatch(/^HTTP\/1\.1 403 /);
});

test('of connections that are too many nothing is kept', async () => {
  const proxy = proxyFor();
  for (let open = 0; open < 512; open++) proxy.take(new PassThrough());
  const one = new PassThrough();
  const closed = once(one, 'close');

  proxy.take(one);

  // It never ends by itself: whoever holds the other end does not close it.
  await closed;
});

test('of connections whose servers take nothing, those that hold most are ended', async () => {
  const proxy = proxyFor();
  const holding = (mebibytes: number) =>
    Object.defineProperty(new PassThrough(), 'readableLength', { value: mebibytes * 2 ** 20 });
  const [little, much, more] = [holding(100), holding(150), holding(200)];
  const closed = [much, more].map((each) => once(each, 'close'));

  for (const each of [little, much, more]) proxy.take(each);

  await Promise.race(closed);
  expect([little, much, more].map(({ destroyed }) => destroyed)).toEqual([false, false, true]);
});
