import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import { connect, createServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { authorityOf, identityFor, type Identity } from '../../../src/network/keys/authority';
import { serviceOf, type Credential } from '../../../src/network/keys/services';
import { withKey } from '../../../src/network/keys/swap';
import { KeyedHost } from '../../../src/network/egress/keyed-host';
import { Refusal } from '../../../src/network/egress/policy';
import { EgressProxy } from '../../../src/network/egress/proxy';
import { listening } from '../../support/listening';
import { newFolder } from '../../support/temp-folder';

jest.mock('../../../src/network/keys/authority', () =>
  jest.requireActual<object>('../../support/known-identities'),
);

const host = 'api.anthropic.com';
const anthropic: Credential = { for: 'anthropic', from: 'env:KEY' };
const { placeholder } = serviceOf(anthropic);
const key = 'the-real-key';

/** What the container trusts, and what signs the servers of the internet. */
let [own, world]: [Identity?, Identity?] = [];
/** The host itself. */
let real: Identity;
beforeAll(async () => {
  own = await authorityOf(newFolder());
  world = await authorityOf(newFolder());
  real = await identityFor(host, world);
});

interface Given {
  readonly credential?: Credential;
  readonly secret?: () => Promise<string>;
  /** Who the server is said to be. */
  readonly identity?: Identity;
  /** What becomes of the way there; by default it leads to the server. */
  readonly reach?: () => Promise<never>;
}

/** The real server, which answers with what it got, and the port of a proxy that leads to it. */
async function given({
  credential = anthropic,
  secret = () => Promise.resolve(key),
  identity,
  reach,
}: Given = {}) {
  const server = https.createServer(identity ?? real, (request, response) => {
    const { method, url, rawHeaders } = request;
    void text(request).then((body) => response.end(JSON.stringify({ method, url, rawHeaders, body })));
  });
  let connections = 0;
  server.on('connection', () => connections++);
  server.on('upgrade', ({ headers, url }: http.IncomingMessage, socket: Duplex) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    socket.end(`${url} ${headers['x-api-key'] as string}`);
  });
  const serverPort = await listening(server);
  const dialled: string[] = [];
  let certificates = 0;
  const tunnel = ({ host: name, port }: { host: string; port: number }) => {
    dialled.push(`${name}:${port}`);
    return reach?.() ?? Promise.resolve(connect(serverPort, '127.0.0.1'));
  };
  const dialler = {
    tunnel,
    direct: tunnel,
    check: () => Promise.resolve(),
    noted: <T>(_: object, made: T) => made,
    proxyFor: () => undefined,
  };
  const keyed = new KeyedHost(
    { host, port: 443 },
    {
      withKeys: async (plain) => withKey(plain, credential, await secret()),
      exchangeAt: () => undefined,
      authority: () => {
        certificates += 1;
        return Promise.resolve(own!);
      },
      dialler,
      authorities: () => [world!.cert],
    },
  );
  const admit = ({ host: name }: { host: string }) =>
    name === 'evil.example' ? Promise.reject(new Refusal('no')) : Promise.resolve();
  const proxy = new EgressProxy(
    { admit, stillAdmits: () => () => true, noteEnd: () => undefined },
    dialler,
    (place) => (place.host === host && place.port === 443 ? keyed : undefined),
  );
  const port = await listening(createServer({ allowHalfOpen: true }, (socket) => proxy.take(socket)));
  return { port, dialled, connections: () => connections, certificates: () => certificates };
}

/** A TLS connection through the proxy, of somebody who trusts what the container does. */
async function secured(port: number, ca = own!.cert): Promise<TLSSocket> {
  const socket = connect(port, '127.0.0.1');
  socket.write(`CONNECT ${host}:443 HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  const [head] = (await once(socket, 'data')) as [Buffer];
  if (!head.includes(' 200 ')) throw new Error(String(head));
  const secure = connectTls({ socket, servername: host, ca });
  await once(secure, 'secureConnect');
  return secure;
}

interface Got {
  readonly status: number;
  readonly body: string;
}

async function request(port: number, options: http.RequestOptions, body = ''): Promise<Got> {
  const secure = await secured(port);
  return await new Promise((resolve, reject) => {
    const sent = http.request({ ...options, host, createConnection: () => secure }, (answer) => {
      const { statusCode: status = 0 } = answer;
      text(answer).then((got) => resolve({ status, body: got }), reject);
    });
    sent.on('error', reject).end(body);
  });
}

const headersIn = ({ body }: Got) => (JSON.parse(body) as { rawHeaders: string[] }).rawHeaders;

describe('a host that gets a key', () => {
  test('gets it in the place of the placeholder, with the rest of the request', async () => {
    const { port, dialled } = await given();

    const headers = { 'X-Api-Key': placeholder, 'X-Other': 'other', Host: 'evil.example' };
    const got = await request(port, { method: 'POST', path: '/v1/messages', headers }, 'the body');

    expect(got.status).toBe(200);
    expect(JSON.parse(got.body)).toMatchObject({ method: 'POST', url: '/v1/messages', body: 'the body' });
    expect(headersIn(got)).toEqual(
      expect.arrayContaining(['X-Api-Key', key, 'X-Other', 'other', 'Host', host]),
    );
    expect(got.body).not.toMatch(/placeholder|evil/);
    expect(dialled).toEqual([`${host}:443`]);
  });

  test('gets several requests on one connection', async () => {
    const { port, connections } = await given();

    for (const path of ['/1', '/2', '/3']) await request(port, { path });

    expect(connections()).toBe(1);
  });

  test('is stood for by a certificate that is made again each day', async () => {
    const { port, certificates } = await given();
    const now = jest.spyOn(Date, 'now');
    const start = Date.now();
    const made: number[] = [];

    for (const hours of [0, 23, 25]) {
      now.mockReturnValue(start + hours * 3_600_000);
      (await secured(port)).destroy();
      made.push(certificates());
    }
    now.mockRestore();

    expect(made).toEqual([1, 1, 2]);
  });

  test('gets as one request what is one, so that nothing of it precedes the key of the next', async () => {
    const { port, connections } = await given();
    const body = 'POST /files HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n';

    const chunked = { 'Transfer-Encoding': 'chunked' };
    const first = await request(port, { method: 'GET', path: '/1', headers: chunked }, body);
    const next = await request(port, { path: '/2', headers: { 'X-Api-Key': placeholder } });

    expect(JSON.parse(first.body)).toMatchObject({ method: 'GET', url: '/1', body });
    expect(JSON.parse(next.body)).toMatchObject({ url: '/2', body: '' });
    expect(connections()).toBe(1);
  });

  test('gets it in an upgraded connection', async () => {
    const secure = await secured((await given()).port);
    secure.write(
      `GET /socket HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Api-Key: ${placeholder}\r\n\r\n`,
    );

    expect(await text(secure)).toMatch(new RegExp(`^HTTP/1.1 101 .*/socket ${key}$`, 's'));
  });

  test('cannot be made to show it by TRACE', async () => {
    const { port } = await given();
    const got = await request(port, { method: 'TRACE', headers: { 'X-Api-Key': placeholder } });

    expect(got.status).toBe(400);
    expect(got.body).not.toContain(key);
  });

  test('gets it only if it is that host', async () => {
    const other = await given({ identity: await identityFor('evil.example', world!) });
    const unsigned = await given({ identity: await identityFor(host, own!) });

    for (const { port } of [other, unsigned]) {
      const got = await request(port, { path: '/', headers: { 'X-Api-Key': placeholder } });
      expect(got.status).toBe(502);
      expect(got.body).toMatch(/^cai: api\.anthropic\.com:443 broke off \(/);
    }
  });

  test('that cannot be reached while a body is still coming is told, and the next request is served', async () => {
    const { port } = await given({ reach: () => Promise.reject(new Refusal('nobody is there', 502)) });

    for (const path of ['/1', '/2']) {
      const secure = await secured(port);
      secure.write(
        `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n`,
      );

      expect(await text(secure)).toMatch(/^HTTP\/1\.1 502 cai: .* \(nobody is there\)\r\n/);
    }
  });

  test('gets nothing where the key cannot be had, and the reason is told', async () => {
    const { port, dialled } = await given({
      secret: () => Promise.reject(new Error('the key for x: there is none')),
    });
    const got = await request(port, { path: '/' });

    expect([got.status, got.body]).toEqual([502, 'cai: the key for x: there is none\n']);
    expect(dialled).toEqual([]);
  });

  test('that is no service gets it in its header, always', async () => {
    const { port } = await given({ credential: { for: host, from: 'env:KEY', header: 'X-Token:' } });

    expect(headersIn(await request(port, { path: '/', headers: { 'x-token': 'own' } }))).toEqual(
      expect.arrayContaining(['X-Token', key]),
    );
  });

  test('has a certificate that only the container trusts', async () => {
    const { port } = await given();

    await expect(secured(port, world!.cert)).rejects.toThrow(/certificate/);
  });
});

describe('the key', () => {
  test('is not put in for another port of the host, and not without TLS', async () => {
    const { port, dialled } = await given();
    const socket = connect(port, '127.0.0.1');
    // It ends at the server of HTTPS, which is told nothing that it understands.
    socket.end(
      `CONNECT ${host}:8443 HTTP/1.1\r\nHost: ${host}\r\n\r\nGET / HTTP/1.1\r\nX-Api-Key: ${placeholder}\r\n\r\n`,
    );
    const said = await text(socket);

    const plain = connect(port, '127.0.0.1');
    plain.end(`GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nX-Api-Key: ${placeholder}\r\n\r\n`);

    expect(`${said}${await text(plain)}`).not.toContain(key);
    expect(dialled).toEqual([`${host}:8443`, `${host}:80`]);
  });
});
