/** `cai serve` behind a real proxy that signs people in: it knows who they are, and says so in a header. */
import { createServer, request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';
import { Tokens } from '../../../src/served/server/door';
import { Host } from '../../../src/system/host';
import { Editor } from '../client/editor';
import { Served } from '../../support/served';

/** What people sign in to the proxy with. */
const people: Readonly<Record<string, string>> = { 'Bearer of-ann': 'ann', 'Bearer of-eve': 'eve' };
const config = `
[serve]
identity_header = "X-Auth-Request-Email"
${['ann', 'bot'].map((name) => `[[serve.users]]\nname = "${name}"\nagents = "all"\nworkspaces = "all"`).join('\n')}
`;
const proxy = createServer();
let server: Served;
let tokens: Tokens;
let proxyToken: string;
let url: string;

beforeAll(async () => {
  server = await Served.start({ config });
  tokens = new Tokens(new Host({ HOME: server.home }));
  proxyToken = await tokens.add('sso', 'proxy');
  proxy.on('request', (asked, answer) => {
    if (people[asked.headers.authorization ?? ''] === undefined) answer.writeHead(401).end();
    else
      asked.pipe(
        request(server.url + asked.url!, { method: asked.method!, headers: passedOn(asked) }, (answered) => {
          answer.writeHead(answered.statusCode!, answered.headers);
          answered.pipe(answer);
        }),
      );
  });
  proxy.on('upgrade', (asked: IncomingMessage, near: Socket) => {
    const far = connect(Number(new URL(server.url).port), '127.0.0.1');
    const headers = Object.entries(passedOn(asked)).map(([name, value]) => `${name}: ${String(value)}\r\n`);
    far.write(`GET ${asked.url} HTTP/1.1\r\n${headers.join('')}\r\n`);
    for (const each of [near, far]) each.on('error', () => undefined);
    near.pipe(far).pipe(near);
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
});

afterAll(async () => {
  proxy.close();
  await server.end();
});

/** The proxy says who it is, and who they are, in the place of all that they have said of that. */
function passedOn({ headers }: IncomingMessage): IncomingHttpHeaders {
  const name = people[headers.authorization ?? ''] ?? '';
  const own = { authorization: `Bearer ${proxyToken}`, 'x-auth-request-email': name };
  return { ...headers, host: new URL(server.url).host, ...own };
}

/** As whom the page of that address shows somebody; else the status of the refusal. */
async function nameAt(address: string, headers: Record<string, string>): Promise<unknown> {
  const response = await fetch(`${address}/page/state`, { headers });
  return response.ok ? ((await response.json()) as { name: unknown }).name : response.status;
}

/** The answer to `initialize`, by HTTP. */
async function initialize(address: string, headers: Record<string, string>): Promise<number> {
  const body = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: 1 } };
  const json = { 'content-type': 'application/json', ...headers };
  return (await fetch(`${address}/acp`, { method: 'POST', headers: json, body: JSON.stringify(body) }))
    .status;
}

test('whoever the proxy has signed in is that person: on the page, by HTTP and by WebSocket', async () => {
  const authorization = 'Bearer of-ann';
  const editor = new Editor([url.replace('http', 'ws')], { CAI_CONNECT_TOKEN: 'of-ann' });

  expect(await nameAt(url, { authorization })).toBe('ann');
  expect(await initialize(url, { authorization })).toBe(200);
  expect(await editor.request('initialize', { protocolVersion: 1 })).toHaveProperty('result');
  const params = { cwd: server.workspace('a'), mcpServers: [] };
  const { result } = await editor.request('session/new', params);
  const state = await fetch(`${url}/page/state`, { headers: { authorization } });
  expect(await state.json()).toMatchObject({
    sessions: [{ sessionId: (result as { sessionId: string }).sessionId }],
  });

  await editor.leave();
});

test('a token that somebody makes in the page behind the proxy serves "cai connect" past it, until it is ended', async () => {
  const page = {
    authorization: 'Bearer of-ann',
    'content-type': 'application/json',
    'sec-fetch-site': 'same-origin',
  };
  const post = async (path: string, headers: Record<string, string>) =>
    await fetch(url + path, { method: 'POST', headers, body: JSON.stringify({ label: 'laptop' }) });
  const { token } = (await (await post('/page/tokens', page)).json()) as { token: string };
  const editor = new Editor([server.url.replace('http', 'ws')], { CAI_CONNECT_TOKEN: token });
  expect(await editor.request('initialize', { protocolVersion: 1 })).toHaveProperty('result');
  const params = { cwd: server.workspace('b'), mcpServers: [] };
  expect(await editor.request('session/new', params)).toHaveProperty('result');
  expect(await nameAt(server.url, { authorization: `Bearer ${token}` })).toBe('ann');

  const { tokens } = (await (await fetch(`${url}/page/state`, { headers: page })).json()) as {
    tokens: { label: string }[];
  };
  expect(tokens.map(({ label }) => label)).toEqual(['laptop']);
  expect((await post('/page/tokens/end', page)).status).toBe(200);

  expect(await editor.ended()).toBe(11);
  expect(await nameAt(server.url, { authorization: `Bearer ${token}` })).toBe(401);
});

test('a token of the page is good at another server that has the same state, and ends there, too', async () => {
  const page = { authorization: 'Bearer of-ann', 'content-type': 'application/json' };
  const post = async (path: string) =>
    await fetch(url + path, { method: 'POST', headers: page, body: '{"label":"both"}' });
  const { token } = (await (await post('/page/tokens')).json()) as { token: string };
  const other = await Served.start({ config, env: { XDG_STATE_HOME: server.stateFolder } });
  const authorization = `Bearer ${token}`;

  expect(await nameAt(other.url, { authorization })).toBe('ann');
  await post('/page/tokens/end');
  expect(await nameAt(other.url, { authorization })).toBe(401);

  await other.end();
});

test('whom the proxy has signed in and the configuration does not name, nobody lets in', async () => {
  const authorization = 'Bearer of-eve';

  expect(await nameAt(url, { authorization })).toBe(403);
  expect(await initialize(url, { authorization })).toBe(403);
});

test('a header that is forged says nothing, at the proxy or past it', async () => {
  const forged = { 'x-auth-request-email': 'bot' };
  const bearer = (token: string) => ({ authorization: `Bearer ${token}`, ...forged });
  const ann = await tokens.add('ann');

  expect(await nameAt(url, { authorization: 'Bearer of-ann', ...forged })).toBe('ann');
  expect(await nameAt(server.url, forged)).toBe(401);
  expect(await nameAt(server.url, { ...forged, 'x-forwarded-for': '127.0.0.1' })).toBe(401);
  expect(await initialize(server.url, forged)).toBe(401);
  expect(await nameAt(server.url, bearer(ann))).toBe('ann');
  expect(await nameAt(server.url, { ...server.owner, ...forged })).toBe('owner');
  expect(await nameAt(server.url, bearer('of-ann'))).toBe(401);
  expect(await nameAt(server.url, { ...bearer(proxyToken), 'x-auth-request-email': 'owner' })).toBe(403);
  expect(await nameAt(server.url, { authorization: `Bearer ${proxyToken}` })).toBe(401);
});
