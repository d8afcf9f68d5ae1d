import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/config';
import { authorityOf, identityFor } from '../../src/credentials/authority';
import { placeholderOf, SignIns, type SignIn } from '../../src/credentials/kept-sign-in';
import { serviceOf } from '../../src/credentials/services';
import type { Dialler } from '../../src/egress/dial';
import { keyedHosts, type KeyedHostsOptions } from '../../src/egress/keyed-hosts';
import { Host } from '../../src/system/host';
import { newFolder } from '../support/temp-folder';

const servers: Server[] = [];
afterEach(() => servers.splice(0).forEach((server) => server.close()));

async function listening(server: Server): Promise<number> {
  servers.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const signIn: SignIn = {
  id: '0123456789ab',
  generation: 1,
  tokens: { access: 'real-access', refresh: 'real-refresh' },
  answer: {},
};
const placeholder = placeholderOf(signIn, 'access')!;

/** The hosts of a user who has signed in to Claude, and has a key; each answers with what it got. */
async function given(changes: Partial<KeyedHostsOptions> = {}) {
  const folder = newFolder();
  const host = new Host({ HOME: folder, KEY: 'real-key' });
  const { state } = host.folders;
  const world = await authorityOf(newFolder());
  writeFileSync(join(folder, 'world.pem'), world.cert);
  const config = loadConfig(host);
  const signIns = new SignIns(host, { agent: 'claude', workspace: undefined, isForAll: true });
  await signIns.own.keep(signIn);
  const dialler = {
    tunnel: async ({ host: name }: { host: string }) => {
      const server = https.createServer(await identityFor(name, world), (request, response) => {
        const { url, rawHeaders } = request;
        void text(request).then((body) => response.end(JSON.stringify({ url, rawHeaders, body })));
      });
      return connect(await listening(server), '127.0.0.1');
    },
  } as unknown as Dialler;
  const find = keyedHosts(
    {
      agent: 'claude',
      config: {
        network: { ...config.network, caFile: join(folder, 'world.pem') },
        credentials: [{ for: 'anthropic', from: 'env:KEY' }],
      },
      host,
      isTrusted: true,
      signIns,
      onSignIn: () => undefined,
      ...changes,
    },
    dialler,
  );
  const { cert } = await authorityOf(state);
  /** What the host got of a request. */
  const ask = async (name: string, options: http.RequestOptions, body = ''): Promise<string> => {
    const serve = await find({ host: name, port: 443 })!.open();
    const socket = connect(await listening(createServer({ allowHalfOpen: true }, serve)), '127.0.0.1');
    socket.on('error', () => undefined);
    const createConnection = () => connectTls({ socket, servername: name, ca: cert });
    const sent = http.request({ ...options, host: name, createConnection }).end(body);
    return await text(((await once(sent, 'response')) as [http.IncomingMessage])[0]);
  };
  return { find, ask, signIns };
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
    expect(url).toBe('/v1/oauth/token?x');
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
      /a body of more than 262144 bytes/,
    );
  });
});
