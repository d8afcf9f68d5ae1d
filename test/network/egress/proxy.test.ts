import { once } from 'node:events';
import http from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import type { HostNetwork } from '../../../src/config/config';
import type { Granted } from '../../../src/network/egress/ask';
import { Dialler } from '../../../src/network/egress/dial';
import { Policy, type PolicyOptions } from '../../../src/network/egress/policy';
import { EgressProxy } from '../../../src/network/egress/proxy';
import { listening } from '../../support/listening';

/** What was noted of connections. */
const noted: string[] = [];

beforeEach(() => void noted.splice(0));

/** The port of a proxy for which `site.example` is this machine, and allowed at each port. */
async function given(
  {
    allow = ['site.example:*'],
    ask,
    decisions = () => ({ allow: [], deny: [] }),
  }: { allow?: string[] } & Partial<Pick<PolicyOptions, 'ask' | 'decisions'>> = {},
  network: HostNetwork = {},
): Promise<number> {
  const policy = new Policy({
    network: { egress: 'ask', allow, deny: [] },
    listed: [],
    telemetry: [],
    isMachine: () => false,
    decisions,
    ask,
    note: (_place, outcome, because) => noted.push(`${outcome}: ${because}`),
  });
  const extraHosts = ['site.example:127.0.0.1', 'denied.example:host-gateway'];
  const proxy = new EgressProxy(policy, new Dialler(policy, network, extraHosts), () => undefined);
  return await listening(createServer({ allowHalfOpen: true }, (socket) => proxy.take(socket)));
}

/** A server that answers each request with what it got. */
async function site(): Promise<number> {
  return await listening(
    http.createServer((request, response) => {
      void text(request).then((body) => {
        const { method, url, headers, rawHeaders } = request;
        if (url === '/moved') response.writeHead(302, { Location: 'http://denied.example/' });
        response.end(JSON.stringify({ method, url, headers, rawHeaders, body }));
      });
    }),
  );
}

/** What the proxy says to these bytes, until it ends the connection. */
async function exchange(port: number, sent: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined).end(sent, 'latin1');
  return await text(socket);
}

/** An opened tunnel, and the status line that opened it. */
async function tunnel(port: number, place: string): Promise<{ socket: Socket; status: string }> {
  const socket = connect(port, '127.0.0.1');
  socket.write(`CONNECT ${place} HTTP/1.1\r\nHost: ${place}\r\n\r\n`);
  const [head] = (await once(socket, 'data')) as [Buffer];
  return { socket, status: String(head).split('\r\n')[0]! };
}

interface Got {
  readonly status: number;
  readonly reason: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

function request(port: number, options: http.RequestOptions, body = ''): Promise<Got> {
  return new Promise((resolve, reject) => {
    const sent = http.request({ port, host: '127.0.0.1', agent: false, ...options }, (answer) => {
      const { statusCode: status = 0, statusMessage: reason = '', headers } = answer;
      text(answer).then((got) => resolve({ status, reason, headers, body: got }), reject);
    });
    sent.on('error', reject).end(body);
  });
}

const seenBy = ({ body }: Got) =>
  JSON.parse(body) as Record<'method' | 'url' | 'body', string> & { headers: Record<string, string> };

describe('a tunnel', () => {
  test('carries bytes both ways, and each end by itself', async () => {
    const echo = await listening(
      createServer({ allowHalfOpen: true }, (socket) => {
        let heard = 0;
        socket.on('data', (chunk) => (heard += chunk.length)).on('end', () => socket.end(`heard ${heard}`));
      }),
    );
    const { socket, status } = await tunnel(await given(), `site.example:${echo}`);

    socket.end('x'.repeat(1_000_000));

    expect(status).toBe('HTTP/1.1 200 Connection established');
    expect(await text(socket)).toBe('heard 1000000');
    expect(noted).toEqual(['allowed: rule "site.example:*"', 'connected: from this machine']);
  });

  test('gets what was sent with the request for it', async () => {
    const echo = await listening(createServer((socket) => socket.pipe(socket)));

    const place = `site.example:${echo}`;
    expect(await exchange(await given(), `CONNECT ${place} HTTP/1.1\r\nHost: x\r\n\r\nearly`)).toMatch(
      /\r\n\r\nearly$/,
    );
  });

  test('is refused with a reason in the status line and the body', async () => {
    const said = await exchange(
      await given(),
      'CONNECT other.example:443 HTTP/1.1\r\nHost: site.example\r\n\r\n',
    );

    const reason =
      'cai: other.example:443 is not allowed from this container: to allow it, run "cai network allow other.example:443" on your machine';
    expect(said.startsWith(`HTTP/1.1 403 ${reason}\r\n`)).toBe(true);
    expect(said.endsWith(`\r\n\r\n${reason}\n`)).toBe(true);
  });

  test.each([
    'site.example',
    'site.example:0',
    'site.example:99999',
    'user@site.example:443',
    'http://site.example:443',
    ':443',
    '[::1:443',
    'a%00b:443',
  ])('to %s is no tunnel', async (place) => {
    expect(
      await exchange(await given({ allow: ['*:*'] }), `CONNECT ${place} HTTP/1.1\r\nHost: x\r\n\r\n`),
    ).toMatch(/^HTTP\/1\.1 400 /);
  });

  test.each([
    '127.0.0.1',
    '2130706433',
    '0x7f.1',
    '127.1',
    '[::1]',
    '[::ffff:127.0.0.1]',
    'LOCALHOST.',
    'localhost',
  ])('does not lead to this machine by the name %s', async (host) => {
    const port = await site();
    const said = await exchange(
      await given({ allow: ['*:*'] }),
      `CONNECT ${host}:${port} HTTP/1.1\r\nHost: x\r\n\r\n`,
    );

    expect(said).toMatch(/^HTTP\/1\.1 403 .*not public/);
  });

  test('waits for the answer of the user', async () => {
    const echo = await listening(createServer((socket) => socket.pipe(socket)));
    let answer: (granted: Granted) => void = () => undefined;
    const asked: string[] = [];
    const ask = (place: string) => {
      asked.push(place);
      return new Promise<Granted>((resolve) => (answer = resolve));
    };
    const port = await given({ allow: [], ask });
    const opening = tunnel(port, `site.example:${echo}`);
    while (asked.length === 0) await new Promise(setImmediate);

    answer(new AbortController().signal);

    const { socket, status } = await opening;
    socket.destroy();
    expect([asked, status]).toEqual([[`site.example:${echo}`], 'HTTP/1.1 200 Connection established']);
  });

  describe('ends at both ends', () => {
    /** Opens one by way of `options`, and resolves once `end` was called and both ends are closed. */
    async function cut(options: Parameters<typeof given>[0], end: () => void): Promise<void> {
      let closed: Promise<unknown> | undefined;
      const server = createServer((socket) => {
        closed = once(socket.on('error', () => undefined).resume(), 'close');
        socket.write('hello');
      });
      const { socket } = await tunnel(await given(options), `site.example:${await listening(server)}`);
      const gone = once(
        socket.on('error', () => undefined),
        'close',
      );

      end();

      await Promise.all([gone, closed]);
    }

    test('once the answer that allowed it counts no more', async () => {
      const grant = new AbortController();
      const ask = () => Promise.resolve(grant.signal);

      await cut({ allow: [], ask }, () => grant.abort());
      expect(noted.at(-1)).toBe('ended: what had allowed it has ended');
    });

    test('once it is denied, whatever allowed it', async () => {
      let deny: string[] = [];

      await cut({ decisions: () => ({ allow: [], deny }) }, () => (deny = ['site.example']));
      expect(noted.at(-1)).toMatch(/^ended: site\.example:\d+ is refused by the rule "site\.example"/);
    });
  });

  test('tells that nothing answers', async () => {
    const gone = createServer();
    const port = await listening(gone);
    gone.close();

    expect(await exchange(await given(), `CONNECT site.example:${port} HTTP/1.1\r\nHost: x\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 502 cai: site\.example:\d+ cannot be reached \(.*ECONNREFUSED/,
    );
    expect(noted).toEqual([
      'allowed: rule "site.example:*"',
      expect.stringMatching(/^failed: site\.example:\d+ cannot be reached /),
    ]);
  });

  test('tells that a name is not known', async () => {
    const port = await given({ allow: ['*'] });

    expect(await exchange(port, 'CONNECT nothing.invalid:443 HTTP/1.1\r\nHost: x\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 502 cai: the name nothing\.invalid cannot be looked up/,
    );
    expect(noted.at(-1)).toMatch(/^failed: the name nothing\.invalid cannot be looked up/);
  });
});

describe('plain HTTP', () => {
  test('is passed on, with the body and the headers that are for the server', async () => {
    const port = await site();
    const got = await request(
      await given(),
      {
        method: 'POST',
        path: `http://site.example:${port}/a?b=c`,
        headers: { 'X-Own': 'own', 'Proxy-Authorization': 'Basic x', Connection: 'X-Hop', 'X-Hop': 'hop' },
      },
      'the body',
    );

    expect(got.status).toBe(200);
    const { headers, ...rest } = seenBy(got);
    expect(rest).toMatchObject({ method: 'POST', url: '/a?b=c', body: 'the body' });
    expect(headers).toMatchObject({ host: `site.example:${port}`, 'x-own': 'own' });
    expect(Object.keys(headers)).not.toEqual(expect.arrayContaining(['proxy-authorization']));
    expect(headers).not.toHaveProperty('x-hop');
  });

  test('is refused for a place that is not allowed', async () => {
    const got = await request(await given(), {
      path: 'http://denied.example/',
      headers: { Host: 'site.example' },
    });

    expect(got.status).toBe(403);
    expect(got.reason).toContain('denied.example:80 is not allowed');
    expect(got.body).toBe(`${got.reason}\n`);
  });

  test('is not led elsewhere by the server', async () => {
    const port = await given();
    const got = await request(port, { path: `http://site.example:${await site()}/moved` });

    expect([got.status, got.headers.location]).toEqual([302, 'http://denied.example/']);
    expect((await request(port, { path: got.headers.location! })).status).toBe(403);
  });

  test.each([
    '/path',
    'site.example/path',
    'ftp://site.example/',
    'https://site.example/',
    'http://user:password@site.example/',
    'http://site.example@denied.example/',
    'http://site.example:80@denied.example/',
    'http:///path',
  ])('for %s is not understood', async (path) =>
    expect((await request(await given(), { path })).status).toBe(400),
  );

  test('has heads of a bounded length', async () => {
    const head = `GET http://site.example/ HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(100_000)}\r\n\r\n`;

    expect(await exchange(await given(), head)).toMatch(/^HTTP\/1\.1 400 /);
  });

  test('serves several requests on one connection', async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const path = `http://site.example:${await site()}/`;
    const port = await given();

    const statuses = [];
    for (const each of [path, path, 'http://denied.example/'])
      statuses.push((await request(port, { path: each, agent })).status);

    agent.destroy();
    expect(statuses).toEqual([200, 200, 403]);
  });

  test('ends at the server when the one who asked is gone', async () => {
    const ended = new Promise<void>((resolve) => {
      void listening(
        http.createServer((_request, response) => response.on('close', resolve).write('begin')),
      ).then(async (port) => {
        const sent = http.request({
          port: await given(),
          host: '127.0.0.1',
          agent: false,
          path: `http://site.example:${port}/`,
        });
        sent
          .on('error', () => undefined)
          .on('response', () => sent.destroy())
          .end();
      });
    });

    await ended;
  });
});

describe('a server', () => {
  test.each(['000 OK', '099 OK', '200 a\x01b', '101 OK\r\nConnection: Upgrade\r\nUpgrade: x'])(
    'that answers with status %j breaks off that request alone',
    async (status) => {
      const odd = await listening(
        createServer((socket) => socket.end(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\n\r\n`)),
      );
      const port = await given();

      expect((await request(port, { path: `http://site.example:${odd}/` })).status).toBe(502);
      expect((await request(port, { path: `http://site.example:${await site()}/` })).status).toBe(200);
    },
  );
});

describe('requests that do not wait for answers', () => {
  /** A server that answers nothing, and how many connections it has. */
  async function silent() {
    const server = createServer((socket) => socket.on('error', () => undefined).resume());
    const port = await listening(server);
    const atLeast = async (count: number): Promise<Socket[]> => {
      const sockets: Socket[] = [];
      while (sockets.length < count) sockets.push(...((await once(server, 'connection')) as [Socket]));
      return sockets;
    };
    return { request: `GET http://site.example:${port}/ HTTP/1.1\r\nHost: x\r\n\r\n`, atLeast };
  }

  test('end at the server when the one who asked is gone', async () => {
    const { request: one, atLeast } = await silent();
    const coming = atLeast(3);
    const socket = connect(await given()).on('error', () => undefined);
    socket.write(one.repeat(3));
    const ended = (await coming).map((each) => once(each, 'close'));

    socket.destroy();

    await Promise.all(ended);
  });

  test('are served up to a limit', async () => {
    const { request: one, atLeast } = await silent();
    const port = await given();
    const socket = connect(port).on('error', () => undefined);
    const coming = atLeast(512);
    socket.write(one.repeat(512));
    await coming;

    expect(await exchange(port, one)).toMatch(/^HTTP\/1\.1 503 cai: more than 512 requests are open/);
    socket.destroy();
  });
});

describe('an upgrade', () => {
  test('leads to the place of its address, with its headers', async () => {
    const server = http.createServer();
    server.on('upgrade', ({ headers, url }, socket: Socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
      socket.end(`${headers.host} ${url} ${headers.upgrade} ${headers['sec-websocket-key']}`);
    });
    const port = await listening(server);

    const said = await exchange(
      await given(),
      `GET ws://site.example:${port}/chat HTTP/1.1\r\nHost: denied.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: key\r\n\r\n`,
    );

    expect(said).toMatch(
      new RegExp(`^HTTP/1.1 101 .*\r\n\r\nsite.example:${port} /chat websocket key$`, 's'),
    );
  });

  test('is refused for a place that is not allowed', async () => {
    const head =
      'GET http://denied.example/ HTTP/1.1\r\nHost: site.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';

    expect(await exchange(await given(), head)).toMatch(/^HTTP\/1\.1 403 /);
  });
});

describe('many connections', () => {
  test('are served up to a limit, and again when some have ended', async () => {
    const echo = await listening(createServer((socket) => socket.pipe(socket)));
    const port = await given();
    const place = `site.example:${echo}`;
    const open = await Promise.all(Array.from({ length: 512 }, () => tunnel(port, place)));

    const refused = await exchange(port, `CONNECT ${place} HTTP/1.1\r\nHost: x\r\n\r\n`);
    for (const { socket } of open.slice(1)) socket.destroy();
    let again: Awaited<ReturnType<typeof tunnel>>;
    do {
      again = await tunnel(port, place);
      again.socket.destroy();
    } while (again.status.includes(' 503 '));

    open[0]!.socket.destroy();
    expect(refused).toMatch(/^HTTP\/1\.1 503 cai: more than 512 connections are open/);
    expect(again.status).toContain(' 200 ');
  });
});

describe('behind a proxy of this machine', () => {
  /** Its port, and the head of each request that it got. */
  async function outer(): Promise<{ port: number; heads: string[] }> {
    const heads: string[] = [];
    const server = http.createServer((got, response) => {
      heads.push(`${got.method} ${got.url} ${got.headers['proxy-authorization'] ?? ''}`);
      response.end('by the outer proxy');
    });
    server.on('connect', (got: http.IncomingMessage, socket: Socket) => {
      heads.push(`CONNECT ${got.url} ${got.headers['proxy-authorization'] ?? ''}`);
      if (got.url === 'closed.example:443') socket.end('HTTP/1.1 407 No\r\n\r\n');
      else socket.end('HTTP/1.1 200 OK\r\n\r\nthrough');
    });
    return { port: await listening(server), heads };
  }

  test('tunnels and requests go through it, with its password', async () => {
    const { port, heads } = await outer();
    const proxy = `http://me:pass@127.0.0.1:${port}`;
    const own = await given({ allow: ['far.invalid'] }, { httpProxy: proxy, httpsProxy: proxy });

    const said = await exchange(own, 'CONNECT far.invalid:443 HTTP/1.1\r\nHost: x\r\n\r\n');
    const got = await request(own, { path: 'http://far.invalid/path' });

    const password = `Basic ${Buffer.from('me:pass').toString('base64')}`;
    expect(said).toMatch(/ 200 .*\r\n\r\nthrough$/s);
    expect(noted.filter((each) => each === 'connected: through the proxy of this machine')).toHaveLength(2);
    expect(got.body).toBe('by the outer proxy');
    expect(heads).toEqual([
      `CONNECT far.invalid:443 ${password}`,
      `GET http://far.invalid:80/path ${password}`,
    ]);
  });

  test('nobody inside has it tell what it was sent, with its password', async () => {
    const { port, heads } = await outer();
    const own = await given({ allow: ['far.invalid'] }, { httpProxy: `http://me:pass@127.0.0.1:${port}` });

    const said = await exchange(
      own,
      'TRACE http://far.invalid/ HTTP/1.1\r\nHost: x\r\nMax-Forwards: 0\r\n\r\n',
    );

    expect(said).toMatch(/^HTTP\/1\.1 400 .*TRACE is not passed on/);
    expect(heads).toEqual([]);
  });

  test('what it refuses is told, and what is not allowed does not get there', async () => {
    const { port, heads } = await outer();
    const own = await given(
      { allow: ['closed.example', 'localhost:*'] },
      { httpsProxy: `http://127.0.0.1:${port}` },
    );

    const refused = await exchange(own, 'CONNECT closed.example:443 HTTP/1.1\r\nHost: x\r\n\r\n');
    const denied = await exchange(own, 'CONNECT other.example:443 HTTP/1.1\r\nHost: x\r\n\r\n');
    const internal = await exchange(own, 'CONNECT localhost:22 HTTP/1.1\r\nHost: x\r\n\r\n');

    expect(refused).toMatch(/^HTTP\/1\.1 502 .*the proxy of this machine answers with status 407/);
    expect(noted).toContainEqual(
      expect.stringMatching(/^failed: .*the proxy of this machine answers with status 407/),
    );
    expect([denied.slice(0, 12), internal.slice(0, 12)]).toEqual(['HTTP/1.1 403', 'HTTP/1.1 403']);
    expect(heads).toEqual(['CONNECT closed.example:443 ']);
  });

  test.each(['site.example', '.example', '*.example', '*', 'a, EXAMPLE'])(
    'places that %j names are reached without it',
    async (noProxy) => {
      const echo = await listening(createServer((socket) => socket.end('direct')));
      const own = await given({ allow: ['site.example:*'] }, { httpsProxy: 'http://127.0.0.1:1', noProxy });

      expect(await exchange(own, `CONNECT site.example:${echo} HTTP/1.1\r\nHost: x\r\n\r\n`)).toMatch(
        /direct$/,
      );
    },
  );
});
