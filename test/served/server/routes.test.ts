import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { Tokens } from '../../../src/served/server/door';
import { Host } from '../../../src/system/host';
import { Served } from '../../support/served';
import { StreamableClient } from '../../support/streamable';

let server: Served;
beforeAll(async () => {
  server = await Served.start({
    config: '[serve]\norigins = ["https://page.example"]',
    env: { CAI_LOG_LEVEL: 'info' },
  });
});
afterAll(() => server.end());

/** Asks for an upgrade, and resolves with the refusal. */
async function refusedUpgrade(path: string, headers: Record<string, string>) {
  const asked = request(`${server.url}${path}`, {
    headers: { connection: 'Upgrade', upgrade: 'websocket', ...headers },
  });
  asked.end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += String(chunk);
  return { status: response.statusCode, headers: response.headers, text };
}

test('/healthz is for everybody, and says nothing else', async () => {
  const response = await fetch(`${server.url}/healthz`);

  expect(response.status).toBe(200);
  expect(await response.text()).toBe('ok\n');
});

test('/metrics are for the user', async () => {
  expect((await fetch(`${server.url}/metrics`)).status).toBe(401);
  const response = await fetch(`${server.url}/metrics`, { headers: server.owner });

  expect(response.status).toBe(200);
  expect(await response.text()).toMatch(/^cai_serve_refused_total\{status="401"\} [1-9]/m);
});

test('/metrics are for a program whose token is for them, and it gets nothing else', async () => {
  const tokens = new Tokens(new Host({ HOME: server.home }));
  const headers = { authorization: `Bearer ${await tokens.add('prometheus', 'metrics')}` };
  const statusOf = async (path: string): Promise<number> =>
    (await fetch(`${server.url}${path}`, { headers })).status;

  expect(await statusOf('/metrics')).toBe(200);
  expect(await statusOf('/acp')).toBe(403);
  const upgrade = await refusedUpgrade('/acp', headers);
  expect(upgrade).toMatchObject({ status: 403, text: 'This token reads /metrics, and nothing else.\n' });
  await tokens.revoke('prometheus');
  expect(await statusOf('/metrics')).toBe(401);
});

test.each(['/acp/', '/none', '//acp', '/%', '/acp%2f'])('%s is answered 404', async (path) => {
  const response = await fetch(`${server.url}${path}`, { headers: server.owner });

  expect(response.status).toBe(404);
  expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
});

test('answers are not kept by anybody, and are no pages', async () => {
  for (const path of ['/healthz', '/none', '/acp'])
    expect(Object.fromEntries((await fetch(`${server.url}${path}`)).headers)).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    });
});

test('a page of a listed origin may ask, and read who it has asked', async () => {
  const origin = 'https://page.example';
  const preflight = await fetch(`${server.url}/acp`, {
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-method': 'POST' },
  });
  expect(preflight.status).toBe(204);
  expect(Object.fromEntries(preflight.headers)).toMatchObject({
    'access-control-allow-origin': origin,
    'access-control-allow-methods': 'GET, POST, DELETE',
    vary: 'Origin',
  });
  const answer = await fetch(`${server.url}/acp`, { method: 'PUT', headers: { ...server.owner, origin } });
  expect(answer.headers.get('access-control-expose-headers')).toBe('Acp-Connection-Id');
});

test('a page of another origin may not', async () => {
  const headers = { ...server.owner, origin: 'https://other.example' };
  const response = await fetch(`${server.url}/acp`, { method: 'POST', headers });

  expect(response.status).toBe(403);
  expect(response.headers.get('access-control-allow-origin')).toBeNull();
});

describe('a WebSocket', () => {
  test('is only at the one path', async () => {
    expect(await refusedUpgrade('/other', server.owner)).toMatchObject({
      status: 404,
      headers: { connection: 'close', 'cache-control': 'no-store' },
      text: 'WebSockets are at /acp\n',
    });
  });

  test('needs a token', async () => {
    expect((await refusedUpgrade('/acp', {})).status).toBe(401);
  });

  test('needs an agent that is served', async () => {
    const refused = await refusedUpgrade('/acp?agent=other', server.owner);

    expect(refused.status).toBe(403);
    expect(refused.text).toContain('it has: mock, flood');
  });
});

test('the log has each request, but no query, header, token or content', async () => {
  server.stderr = '';
  const client = new StreamableClient(server);
  const { sessionId } = await client.open();
  await client.prompt(sessionId, 'c0ntent');
  await client.send('DELETE', {}, undefined, '/acp?agent=s3cret');
  await fetch(`${server.url}/acp?key=s3cret`, { headers: { authorization: 'Bearer wr0ng' } });
  await server.said(/"method":"DELETE","path":"\/acp","status":202[^]*"status":401/);

  expect(server.stderr).toContain('"method":"POST","path":"/acp","status":202');
  expect(server.stderr).toContain('"connection opened"');
  const token = server.owner.authorization.replace('Bearer ', '');
  for (const hidden of ['s3cret', 'c0ntent', 'wr0ng', token]) expect(server.stderr).not.toContain(hidden);
});
