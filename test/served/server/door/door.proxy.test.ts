/** A proxy that signs people in names them in a header: nobody else can. */
import { isRefusal, type Visitor } from '../../../../src/served/server/door/visitor';
import { newDoor, outcome, serve, serveHttp2, socketPath, users } from './served';

const ann = { name: 'ann', agents: ['claude'], workspaces: ['/srv/shop'] };

/** A door that knows a proxy, and the tokens of all. */
async function behindProxy() {
  const names = { users, identityHeader: 'X-Auth-Request-Email' };
  const { door, tokens, owner } = newDoor({ isBehindProxy: true, serve: names });
  const proxy = await tokens.add('sso', 'proxy');
  const annsOwn = await tokens.add('ann');
  const { port, send } = await serve((request) => door.admit(request, false));
  const knock = async (token: string, ...headers: string[]) => {
    const authorization = `Authorization: Bearer ${token}`;
    const all = [`Host: localhost:${port}`, 'Connection: close', authorization, ...headers];
    return (await send('GET /acp HTTP/1.1', ...all)).answer;
  };
  return { door, tokens, owner, proxy, annsOwn, knock };
}

describe('the token of a proxy', () => {
  test('lets in whom the proxy names, as their own token would, in whatever case the header is written', async () => {
    const { proxy, annsOwn, knock } = await behindProxy();

    expect(await knock(proxy, 'X-Auth-Request-Email: ann')).toEqual(ann);
    expect(await knock(proxy, 'x-auth-request-email: ann')).toEqual(await knock(annsOwn));
    expect(await knock(proxy, 'X-AUTH-REQUEST-EMAIL:bot')).toEqual({ name: 'bot' });
  });

  test('is nobody itself', async () => {
    const { door, proxy, knock } = await behindProxy();

    expect(await knock(proxy)).toMatchObject({ status: 401 });
    expect(await knock(proxy, 'X-Auth-Request-User: ann')).toMatchObject({ status: 401 });
    expect(outcome(door.admitToken(proxy, ''))).toBe(401);
    expect(outcome(door.visitorNamed('sso'))).toBe(404);
  });

  test('counts no more than another one where the configuration names no header', async () => {
    const { door, tokens } = newDoor({ serve: { users } });
    const proxy = await tokens.add('sso', 'proxy');
    const { port, send } = await serve((request) => door.admit(request, false));
    const headers = [`Host: localhost:${port}`, 'Connection: close', `Authorization: Bearer ${proxy}`];

    const { answer } = await send('GET /acp HTTP/1.1', ...headers, 'X-Auth-Request-Email: ann');

    expect(answer).toMatchObject({ status: 401 });
  });

  test.each([
    ['X-Auth-Request-Email: owner', 403],
    ['X-Auth-Request-Email: eve', 403],
    ['X-Auth-Request-Email: sso', 403],
    ['X-Auth-Request-Email: ANN', 403],
    ['X-Auth-Request-Email:', 403],
    ['X-Auth-Request-Email: ann, bot', 403],
    ['X-Auth-Request-Email: ann;bot', 403],
    ['X-Auth-Request-Email: "ann"', 403],
    ['X-Auth-Request-Email: ann\tbot', 403],
    ['X-Auth-Request-Email: \u00e4nn', 403],
    [`X-Auth-Request-Email: ann${'n'.repeat(300)}`, 403],
    ['X-Auth-Request-Email: __proto__', 403],
    ['X-Auth-Request-Email: ann\r\nX-Auth-Request-Email: ann', 400],
    ['X-Auth-Request-Email: ann\r\nx-auth-request-email: bot', 400],
    ['X-Auth-Request-Email: ann\r\nAuthorization: Bearer other', 400],
  ])('lets nobody in with %j: %s', async (header, status) => {
    const { proxy, knock } = await behindProxy();

    const answer = await knock(proxy, header);

    expect(answer).toMatchObject({ status });
    expect(JSON.stringify(answer)).not.toContain('ann');
  });

  test('lets in for as long as neither it is revoked nor the configuration changes', async () => {
    const { door, tokens, proxy } = await behindProxy();
    const [first, own] = [
      door.admitToken(proxy, '', { person: 'ann' }),
      door.admitToken(await tokens.add('bot'), ''),
    ];
    expect([first, own].map((each) => door.isStillAdmitted(each as Visitor))).toEqual([true, true]);

    await tokens.revoke('sso');

    expect([first, own].map((each) => door.isStillAdmitted(each as Visitor))).toEqual([false, true]);
    expect(outcome(door.admitToken(proxy, '', { person: 'ann' }))).toBe(401);
  });

  test('gets nobody a cookie, which would outlast their sign-in at the proxy', async () => {
    const { door, proxy } = await behindProxy();
    const ticket = door.newTicket(door.admitToken(proxy, '', { person: 'ann' }) as Visitor);
    const { port, send } = await serve((request) => door.redeem(ticket, request));

    const { answer } = await send('GET / HTTP/1.1', `Host: localhost:${port}`, 'Connection: close');

    expect(answer).toMatchObject({ status: 403 });
  });

  test('counts in HTTP/2, too', async () => {
    const { door, proxy, annsOwn } = await behindProxy();
    const http2 = await serveHttp2((request) => door.admit(request, false));
    const ask = async (token: string, email: string | string[]) =>
      outcome(await http2.ask({ authorization: `Bearer ${token}`, 'x-auth-request-email': email }));

    expect(await ask(proxy, 'bot')).toBe('bot');
    expect(await ask(annsOwn, 'bot')).toBe('ann');
    expect(await ask(proxy, ['ann', 'bot'])).toBe(400);
  });
});

test('whom the proxy names makes tokens, and nobody by a token, cookie or socket', async () => {
  const { door, owner, proxy, annsOwn } = await behindProxy();
  const made = door.ownTokensOf(door.admitToken(proxy, '', { person: 'ann' }) as Visitor);
  if (isRefusal(made)) throw new Error(made.text);
  const token = await made.make('laptop');

  expect(door.admitToken(token, '')).toEqual(ann);
  expect(door.admitToken(token, '', { person: 'bot' })).toEqual(ann);
  const others = [owner, annsOwn, token].map((each) => door.admitToken(each, '') as Visitor);
  for (const visitor of [...others, door.visitorNamed('ann') as Visitor, { name: 'ann' }])
    expect(door.ownTokensOf(visitor)).toMatchObject({ status: 403 });
  const visitor = door.admitToken(token, '') as Visitor;
  expect(door.isStillAdmitted(visitor)).toBe(true);
  await made.end('laptop');
  expect(door.isStillAdmitted(visitor)).toBe(false);
  expect(outcome(door.admitToken(token, ''))).toBe(401);
});

test('the groups that the proxy names give rights, also to the tokens that their people make', async () => {
  const groups = [{ name: 'Süd team', agents: 'all', workspaces: ['/srv/{user}'] }] as const;
  const names = { identityHeader: 'X-User', groupsHeader: 'X-Groups' };
  const { door, tokens } = newDoor({ isBehindProxy: true, serve: { users, groups, ...names } });
  const proxy = await tokens.add('sso', 'proxy');
  const { port, send } = await serve((request) => door.admit(request, false));
  const knock = async (token: string, ...headers: string[]) => {
    const head = [`Host: localhost:${port}`, 'Connection: close', `Authorization: Bearer ${token}`];
    return (await send('GET /acp HTTP/1.1', ...head, ...headers)).answer;
  };
  const eve = { name: 'eve', workspaces: ['/srv/eve'] };

  expect(await knock(proxy, 'X-User: eve', 'x-groups: ops, Süd team')).toMatchObject(eve);
  expect(await knock(proxy, 'X-User: eve', 'X-Groups: ops')).toMatchObject({ status: 403 });
  expect(await knock(proxy, 'X-User: eve', 'X-Groups: ops', 'X-Groups: Süd team')).toMatchObject({
    status: 400,
  });
  const own = door.ownTokensOf(
    door.admitToken(proxy, '', { person: 'eve', groups: ['Süd team'] }) as Visitor,
  );
  if (isRefusal(own)) throw new Error(own.text);
  const token = await own.make('laptop');
  expect(await knock(token, 'X-Groups: ops')).toMatchObject(eve);
  expect(await knock(await tokens.add('mallory'), 'X-Groups: Süd team')).toMatchObject({ status: 403 });
});

test('the header says nothing at the Unix socket, where the user needs no token', async () => {
  const { door, tokens } = newDoor({ serve: { users, identityHeader: 'X-Auth-Request-Email' } });
  const { send } = await serve((request) => door.admit(request, true), socketPath());
  const knock = async (...headers: string[]) =>
    outcome((await send('GET /acp HTTP/1.1', 'Host: localhost', 'Connection: close', ...headers)).answer);

  expect(await knock('X-Auth-Request-Email: ann')).toBe('owner');
  const proxy = `Authorization: Bearer ${await tokens.add('sso', 'proxy')}`;
  expect(await knock(proxy, 'X-Auth-Request-Email: ann')).toBe('ann');
  expect(await knock(proxy)).toBe(401);
});
