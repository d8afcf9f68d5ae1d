import { subscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import { connect, createServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../../src/config/config';
import { authorityOf, identityFor, type Identity } from '../../../src/network/keys/authority';
import { signInOf } from '../../../src/network/keys/agent-sign-ins';
import { placeholderOf, SignIns, type SignIn } from '../../../src/network/keys/kept-sign-in';
import { serviceOf } from '../../../src/network/keys/services';
import type { Dialler } from '../../../src/network/egress/dial';
import { keyedHosts } from '../../../src/network/egress/keyed-hosts';
import { Host } from '../../../src/system/host';
import { listening } from '../../support/listening';
import { newFolder } from '../../support/temp-folder';

jest.mock('../../../src/network/keys/authority', () =>
  jest.requireActual<object>('../../support/known-identities'),
);

/** What signs the servers of the internet, and the state folder of a user who has an authority. */
let world: Identity;
const known = newFolder();
beforeAll(async () => {
  world = await authorityOf(newFolder());
  await authorityOf(known);
});

const signIn: SignIn = {
  id: '0123456789ab',
  generation: 1,
  tokens: { access: 'real-access', refresh: 'real-refresh' },
  answer: {},
};
const placeholder = placeholderOf(signIn, 'access')!;

/** What Node tells when a client has the head of an answer. */
const headRead = 'http.client.response.finish';

/** The hosts of a user who has signed in to Claude, and has a key; each answers with what it got. */
async function given({ agent = 'claude', isTrusted = true } = {}) {
  const folder = newFolder();
  const host = new Host({ HOME: folder, KEY: 'real-key' });
  const { state } = host.folders;
  cpSync(known, state, { recursive: true });
  const caFile = join(folder, 'world.pem');
  writeFileSync(caFile, world.cert);
  const config = loadConfig(host);
  const signIns = new SignIns(host, { agent, workspace: undefined, isForAll: true });
  await signIns.own.keep(signIn);
  const seen: string[] = [];
  const dialler = {
    tunnel: async ({ host: name }: { host: string }) => {
      let raw: Socket | undefined;
      const server = https.createServer(await identityFor(name, world), (request, response) => {
        const { url, rawHeaders } = request;
        seen.push(url!);
        if (rawHeaders.includes('X-Break')) {
          subscribe(headRead, () => raw?.resetAndDestroy());
          response.writeHead(200, { 'Content-Length': 9 }).write('{');
          return;
        }
        void text(request).then((body) => response.end(JSON.stringify({ url, rawHeaders, body })));
      });
      server.on('connection', (socket: Socket) => (raw = socket));
      return connect(await listening(server), '127.0.0.1');
    },
  } as unknown as Dialler;
  const find = keyedHosts(
    {
      config: {
        network: { ...config.network, caFile },
        credentials: [{ for: 'anthropic', from: 'env:KEY' }],
      },
      host,
      isTrusted,
      signIn: { form: signInOf(agent, config)!, kept: signIns, onSignIn: () => undefined },
    },
    dialler,
  );
  const { cert } = await authorityOf(state);
  /** A TLS connection to a host. */
  const secured = async (name: string): Promise<TLSSocket> => {
    const serve = await find({ host: name, port: 443 })!.open();
    const socket = connect(await listening(createServer({ allowHalfOpen: true }, serve)), '127.0.0.1');
    socket.on('error', () => undefined);
    return connectTls({ socket, servername: name, ca: cert });
  };
  /** What the host got of a request. */
  const ask = async (name: string, options: http.RequestOptions, body = ''): Promise<string> => {
    const socket = await secured(name);
    const createConnection = () => socket;
    const sent = http.request({ ...options, host: name, createConnection }).end(body);
    return await text(((await once(sent, 'response')) as [http.IncomingMessage])[0]);
  };
  return { find, ask, signIns, secured, seen, caFile };
}

describe('keyedHosts', () => {
  it.each([
    ['api.anthropic.com', 443, true],
    ['platform.claude.com', 443, true],
    ['platform.claude.com', 80, false],
    ['chatgpt.com', 443, false],
    ['example.com', 443, false],
  ])('finds %s:%s: %s', async (host, port, expected) => {
    const { find } = await given();

    expect(find({ host, port }) !== undefined).toBe(expected);
    expect(find({ host, port })).toBe(find({ host, port }));
  });

  it('tells a file of certificates that is gone', async () => {
    const { ask, caFile } = await given();
    rmSync(caFile);

    const answer = await ask('api.anthropic.com', { path: '/' });

    expect(answer).toContain(`network.ca_file: ${caFile} cannot be read: no such file or directory`);
  });

  it('finds none for a container that does not take us for them', async () => {
    const { find } = await given({ isTrusted: false });

    expect(find({ host: 'api.anthropic.com', port: 443 })).toBeUndefined();
  });

  it('gives a host both the key and the token', async () => {
    const { ask } = await given();
    const key = serviceOf({ for: 'anthropic' }).placeholder;

    const got = await ask('api.anthropic.com', {
      path: '/v1/messages',
      headers: { 'X-Api-Key': key, Authorization: `Bearer ${placeholder}`, 'X-Other': placeholder },
    });

    expect(got).toContain('"X-Api-Key","real-key"');
    expect(got).toContain('"Authorization","Bearer real-access"');
    expect(got).toContain(`"X-Other","${placeholder}"`);
  });

  it('sends requests for tokens with the real ones, and asks for an answer that can be read', async () => {
    const { ask } = await given();
    const fields = { grant_type: 'refresh_token', refresh_token: placeholderOf(signIn, 'refresh') };

    const got = await ask(
      'platform.claude.com',
      {
        method: 'POST',
        path: '/v1/oauth/token?x',
        headers: { 'Content-Type': 'application/json', Accept: 'text/xml', 'Accept-Encoding': 'br' },
      },
      JSON.stringify(fields),
    );

    // As it would be in an error: what was sent had the real one.
    const { url, body, rawHeaders } = JSON.parse(got) as { url: string; body: string; rawHeaders: string[] };
    expect(JSON.parse(body)).toEqual(fields);
    expect(url).toBe('/v1/oauth/token');
    expect(rawHeaders).toEqual(expect.arrayContaining(['Accept', 'application/json']));
    expect(rawHeaders).toContain(
      String('{"grant_type":"refresh_token","refresh_token":"real-refresh"}'.length),
    );
    expect(rawHeaders.join(' ')).not.toMatch(/xml|Encoding/);
  });

  it('refuses a request for tokens that it cannot read', async () => {
    const { ask } = await given();
    const options = { method: 'POST', path: '/v1/oauth/token', headers: { 'Content-Encoding': 'gzip' } };

    expect(await ask('platform.claude.com', options, 'x')).toMatch(/must not be compressed/);
    expect(await ask('platform.claude.com', { ...options, headers: {} }, 'x'.repeat(300_000))).toMatch(
      /the body has more than 262144 bytes/,
    );
  });

  const key = '/api/oauth/claude_cli/create_api_key';
  const upgrading = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';
  const bearer = `Authorization: Bearer ${placeholder}\r\n`;

  it.each([
    ['asks for another protocol', `POST ${key} HTTP/1.1\r\nHost: x\r\n${upgrading}${bearer}\r\n`],
    ['asks for HTTP/2', `GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n${bearer}\r\n`],
    [
      'has another token before',
      `POST ${key} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer x\r\n${bearer}\r\n`,
    ],
  ])('shows no token to whoever %s', async (_, request) => {
    const { secured } = await given();
    const socket = await secured('api.anthropic.com');
    socket.write(request);

    const got = await text(socket);

    expect(got).toMatch(/^HTTP\/1.1 /);
    expect(got).not.toContain('real-access');
  });

  it('takes nothing for another protocol before the server has agreed', async () => {
    const { secured, seen } = await given();
    const socket = await secured('api.anthropic.com');
    const code = 'grant_type=authorization_code&code=x';
    socket.write(`GET /socket HTTP/1.1\r\nHost: x\r\n${upgrading}\r\n`);
    socket.write(
      `POST /v1/oauth/token HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${code.length}\r\n\r\n${code}`,
    );

    expect(await text(socket)).not.toContain(code);
    expect(seen).toEqual(['/socket']);
  });

  it('outlives a server that breaks off in its answer', async () => {
    const { ask } = await given();
    const options = { method: 'POST', path: '/v1/oauth/token', headers: { 'X-Break': 'x' } };

    expect(await ask('platform.claude.com', options, 'code=x')).toMatch(/^cai: /);
  });

  it('keeps no more hosts ready than are of use', async () => {
    const { find } = await given({ agent: 'copilot' });
    const named = (count: number) => find({ host: `h${count}.githubcopilot.com`, port: 443 });
    const first = named(0);

    for (let count = 1; count <= 100; count++) named(count);

    expect(named(100)).toBe(named(100));
    expect(named(0)).not.toBe(first);
  });
});
