import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import type { Connections } from '../../../../src/served/server/connections';
import { isRefusal, type Visitor } from '../../../../src/served/server/door/visitor';
import { statusOf } from '../../../../src/served/server/http/http-error';
import { Page } from '../../../../src/served/server/page/page';
import { newDoor, users } from '../door/served';

const open: Server[] = [];

afterEach(() => {
  for (const server of open.splice(0)) server.close();
});

const remembered = [
  { id: 'old', agent: 'claude', cwd: '/srv/shop/a', root: '/srv/shop', title: 'Old' },
  { id: 'secret', agent: 'claude', cwd: '/home/u/diary', root: '/home/u/diary', title: 'Dear diary' },
  { id: 'other', agent: 'codex', cwd: '/srv/shop', root: '/srv/shop' },
  {
    ...{ id: 'new', agent: 'claude', cwd: '/srv/shop', root: '/srv/shop', title: 'New' },
    at: '2026-01-02T03:04:05Z',
  },
];

/** A page behind a server of node, as it comes; `isLocal`: as if by the Unix socket. */
async function served({ isLocal = false, hasAddress = true } = {}) {
  const { door, tokens, owner } = newDoor({ serve: { users, identityHeader: 'X-Person' } });
  const connections = {
    agentsFor: ({ agents }: Visitor) => ['claude', 'codex'].filter((name) => agents?.includes(name) ?? true),
    sessionsOf: ({ name }: Visitor, agent: string) =>
      name === 'ann' && agent === 'claude' ? [{ id: 'new', isInTurn: true, isWaiting: false }] : [],
  };
  const page = new Page({
    door,
    connections: connections as unknown as Connections,
    remembered: () => remembered,
    address: () => (hasAddress ? 'http://box' : undefined),
    refuse: (refusal) => {
      throw Object.assign(new Error(refusal.text), refusal);
    },
  });
  const server = createServer((request, response) => {
    page.serve(request, response, request.url!, isLocal).catch((reason: unknown) => {
      response.writeHead(
        isRefusal(reason as object) ? (reason as { status: number }).status : statusOf(reason),
      );
      response.end((reason as Error).message);
    });
  });
  open.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  door.listensOn('127.0.0.1');
  const ask = async (path: string, headers: Record<string, string> = {}, body?: unknown) => {
    const post = { method: 'POST', body: JSON.stringify(body) };
    const type = { 'content-type': 'application/json' };
    return await fetch(origin + path, { ...(body !== undefined && post), headers: { ...type, ...headers } });
  };
  /** What the page sends, once it was let in. */
  const own = async (entered: Response) => {
    const { key } = (await entered.json()) as { key: string };
    return { origin, cookie: entered.headers.get('set-cookie')!.split(';')[0]!, 'cai-page-key': key };
  };
  return { door, tokens, owner, page, origin, ask, own };
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

test('the files are for everybody, and bound to themselves', async () => {
  const { ask, origin } = await served();

  for (const [path, type] of [
    ['/', 'text/html'],
    ['/page/app.js', 'text/javascript'],
    ['/page/style.css', 'text/css'],
  ] as const) {
    const answer = await ask(path);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe(`${type}; charset=utf-8`);
    expect(answer.headers.get('content-security-policy')).toBe(
      `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' ${origin.replace('http', 'ws')} ${origin.replace('http', 'wss')}; img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`,
    );
    expect(answer.headers.get('x-frame-options')).toBe('DENY');
    expect(answer.headers.get('cross-origin-opener-policy')).toBe('same-origin');
    expect(await answer.text()).not.toMatch(/<script>|style=| on\w+=|innerHTML|eval\(/);
  }
  expect((await ask('/', { origin: 'https://evil.example' })).status).toBe(403);
  expect((await ask('/page/other')).status).toBe(404);
  expect((await ask('/page/app.js', {}, {})).status).toBe(404);
});

test('all files together are small', async () => {
  const { ask } = await served();
  const sizes = await Promise.all(
    ['/', '/page/app.js', '/page/style.css'].map(
      async (path) => (await (await ask(path)).arrayBuffer()).byteLength,
    ),
  );

  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(45_000);
});

test('a ticket signs in once, for the page alone', async () => {
  const { ask, own, page, origin } = await served();
  const ticket = (page.linkFor('owner') as string).replace('http://box/#ticket=', '');

  expect((await ask('/page/sign-in', { origin: 'https://evil.example' }, { ticket })).status).toBe(403);
  expect((await ask('/page/sign-in', { origin, 'content-type': 'text/plain' }, { ticket })).status).toBe(415);
  const answer = await ask('/page/sign-in', { origin }, { ticket });
  expect(answer.headers.get('set-cookie')).toMatch(
    /^cai=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/,
  );
  const headers = await own(answer);
  expect((await ask('/page/state', headers)).status).toBe(200);
  expect((await ask('/page/state', { cookie: headers.cookie })).status).toBe(401);
  expect((await ask('/page/state', { ...headers, 'cai-page-key': '' })).status).toBe(401);
  expect((await ask('/page/sign-in', { origin }, { ticket })).status).toBe(401);
  expect((await ask('/page/sign-in', { origin }, { ticket: 7 })).status).toBe(401);
  expect((await ask('/page/sign-in', { origin }, 'x')).status).toBe(400);
});

test('a token signs in, and signing out ends it', async () => {
  const { ask, own, owner, origin } = await served();
  expect((await ask('/page/sign-in', { origin, ...bearer(`cai_${'x'.repeat(43)}`) }, {})).status).toBe(401);
  const headers = await own(await ask('/page/sign-in', { origin, ...bearer(owner) }, {}));
  expect((await ask('/page/state', headers)).status).toBe(200);

  const answer = await ask('/page/sign-out', headers, {});
  expect(answer.headers.get('set-cookie')).toBe('cai=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict');
  expect((await ask('/page/state', headers)).status).toBe(401);
  expect((await ask('/page/sign-out', { origin }, {})).status).toBe(401);
});

test('somebody is signed in whatever others send slowly from the same address', async () => {
  const { ask, page, origin } = await served();
  const ticket = (page.linkFor('owner') as string).replace('http://box/#ticket=', '');
  const headers = { origin, 'content-type': 'application/json', 'content-length': 4_096 };
  const slow = Array.from({ length: 2 }, () =>
    request(`${origin}/page/sign-in`, { method: 'POST', headers }),
  );
  for (const each of slow) {
    each.on('error', () => undefined);
    await new Promise((resolve) => each.write('x'.repeat(4_095), resolve));
  }
  await ask('/');

  expect((await ask('/page/sign-in', { origin }, { ticket })).status).toBe(200);
  for (const each of slow) each.destroy();
});

test('everybody sees what is theirs', async () => {
  const { ask, owner, tokens } = await served();
  const ann = await tokens.add('ann');

  expect(await (await ask('/page/state', bearer(owner))).json()).toEqual({
    name: 'owner',
    agents: ['claude', 'codex'],
    workspaces: ['/srv/shop', '/home/u/diary', '/srv/shop/a'],
    sessions: [],
  });
  expect(await (await ask('/page/state', bearer(ann))).json()).toEqual({
    name: 'ann',
    agents: ['claude'],
    workspaces: ['/srv/shop', '/srv/shop/a'],
    sessions: [
      {
        ...{ agent: 'claude', sessionId: 'new', cwd: '/srv/shop', title: 'New' },
        ...{ updatedAt: '2026-01-02T03:04:05Z', isWorking: true, isAsking: false },
      },
    ],
  });
  expect((await ask('/page/state')).status).toBe(401);
});

describe('tokens of a person', () => {
  /** As a proxy sends what ann's browser asks. */
  async function annBehindProxy() {
    const { ask, tokens, origin, ...rest } = await served();
    const proxied = { ...bearer(await tokens.add('sso', 'proxy')), 'x-person': 'ann' };
    const state = async () => (await (await ask('/page/state', proxied)).json()) as { tokens?: unknown };
    return { ...rest, ask, tokens, origin, proxied, state };
  }

  test('are made, seen and ended by whom a proxy has signed in', async () => {
    const { ask, origin, proxied, state, tokens } = await annBehindProxy();
    const headers = { ...proxied, origin, 'sec-fetch-site': 'same-origin' };
    expect((await state()).tokens).toEqual([]);

    const made = await ask('/page/tokens', headers, { label: 'laptop' });

    const { token } = (await made.json()) as { token: string };
    expect(tokens.holderOf(token)).toMatchObject({ name: 'ann' });
    const told = [
      { label: 'laptop', created: expect.any(String) as string, expires: expect.any(String) as string },
    ];
    expect((await state()).tokens).toEqual(told);
    expect(JSON.stringify(await state())).not.toMatch(/sha256|cai_/);
    expect((await ask('/page/tokens', headers, { label: 'laptop' })).status).toBe(400);
    expect((await ask('/page/tokens', headers, { label: ['x'] })).status).toBe(400);
    expect((await ask('/page/tokens/end', headers, { label: 'desk' })).status).toBe(404);
    expect((await ask('/page/tokens/end', headers, { label: 'laptop' })).status).toBe(200);
    expect(tokens.holderOf(token)).toBeUndefined();
    expect((await ask('/page/tokens', headers)).status).toBe(404);
  });

  test('are made for no page of somebody else, and nobody who has come in otherwise', async () => {
    const { ask, own, owner, origin, proxied, state, tokens } = await annBehindProxy();
    const label = 'x';
    const cookie = await own(await ask('/page/sign-in', { origin, ...bearer(await tokens.add('ann')) }, {}));
    const status = async (headers: Record<string, string>) =>
      (await ask('/page/tokens', headers, { label })).status;

    expect(await status({ ...proxied, origin: 'https://evil.example' })).toBe(403);
    expect(await status({ ...proxied, 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(await status({ ...proxied, origin, 'content-type': 'text/plain' })).toBe(415);
    expect(await status({ origin, 'x-person': 'ann' })).toBe(401);
    expect(await status({ ...bearer(owner), 'x-person': 'ann' })).toBe(403);
    expect(await status(cookie)).toBe(403);
    expect(await (await ask('/page/state', cookie)).json()).not.toHaveProperty('tokens');
    expect((await state()).tokens).toEqual([]);
  });
});

describe('links', () => {
  test('are made for the owner, by their token or by the socket that only they can open', async () => {
    const { ask, own, owner, tokens, origin } = await served();
    const ann = await tokens.add('ann');
    const headers = await own(await ask('/page/sign-in', { origin, ...bearer(owner) }, {}));

    const { link } = (await (await ask('/page/tickets', bearer(owner), {})).json()) as { link: string };
    expect(link).toMatch(/^http:\/\/box\/#ticket=[\w-]{43}$/);
    expect((await ask('/page/tickets', bearer(ann), {})).status).toBe(403);
    expect((await ask('/page/tickets', headers, {})).status).toBe(403);
    expect((await ask('/page/tickets', { origin }, {})).status).toBe(401);
    const local = await served({ isLocal: true });
    expect((await local.ask('/page/tickets', {}, {})).status).toBe(200);
  });

  test('are for others as long as they have a token', async () => {
    const { ask, own, owner, tokens, origin } = await served();
    expect((await ask('/page/tickets', bearer(owner), { user: 'ann' })).status).toBe(404);
    await tokens.add('ann');
    const { link } = (await (await ask('/page/tickets', bearer(owner), { user: 'ann' })).json()) as {
      link: string;
    };
    const ticket = link.split('=')[1];
    const headers = await own(await ask('/page/sign-in', { origin }, { ticket }));
    expect(await (await ask('/page/state', headers)).json()).toMatchObject({ name: 'ann' });

    await tokens.revoke('ann');
    expect((await ask('/page/state', headers)).status).toBe(401);
  });

  test('need an address', async () => {
    const { ask, owner } = await served({ hasAddress: false });

    expect((await ask('/page/tickets', bearer(owner), {})).status).toBe(409);
  });
});
