import { chmodSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import type { OutgoingHttpHeaders } from 'node:http2';
import { join } from 'node:path';
import type { Refusal, Visitor } from '../../../../src/served/server/door/visitor';
import * as refused from '../../../support/refused-requests';
import { newDoor, outcome, serve, serveHttp2, socketPath, users, type Given } from './served';

/** A door that knows `users`, behind a server. */
async function knocking(given: Given = {}, path?: string) {
  const { door, tokens, owner } = newDoor({ ...given, serve: { users, ...given.serve } });
  const { port, send } = await serve((request) => door.admit(request, path !== undefined), path);
  const host = path === undefined ? `Host: localhost:${port}` : 'Host: localhost';
  const knock = async (...headers: string[]): Promise<Visitor | Refusal> =>
    (await send('GET /acp HTTP/1.1', host, 'Connection: close', ...headers)).answer;
  return {
    door,
    tokens,
    owner,
    port,
    send,
    knock,
    with: (token: string) => knock(`Authorization: Bearer ${token}`),
  };
}

describe('a token', () => {
  test('lets in whom it names, to what the configuration says', async () => {
    const { tokens, owner, with: withToken } = await knocking();

    expect(await withToken(owner)).toEqual({ name: 'owner' });
    expect(await withToken(await tokens.add('ann'))).toEqual({
      name: 'ann',
      agents: ['claude'],
      workspaces: ['/srv/shop'],
    });
    expect(await withToken(await tokens.add('bot'))).toEqual({ name: 'bot' });
  });

  test('of somebody whom the configuration does not name lets nobody in', async () => {
    const { tokens, with: withToken } = await knocking();

    expect(await withToken(await tokens.add('eve'))).toMatchObject({ status: 403 });
  });

  test.each<readonly [string, number | string]>([
    ['Authorization: bearer TOKEN', 'owner'],
    ['Authorization: BEARER   TOKEN', 'owner'],
    ...refused.tokens,
  ])('comes as RFC 6750 says: %s: %s', async (header, expected) => {
    const { owner, knock } = await knocking();

    expect(outcome(await knock(header.replaceAll('TOKEN', owner)))).toBe(expected);
  });

  test('is asked for as RFC 6750 says, and no answer repeats it', async () => {
    const { knock, with: withToken } = await knocking();

    expect(await knock()).toMatchObject({
      status: 401,
      headers: { 'WWW-Authenticate': 'Bearer realm="cai"' },
    });
    const wrong = await withToken('secret-word');
    expect(wrong).toMatchObject({
      headers: { 'WWW-Authenticate': 'Bearer realm="cai", error="invalid_token"' },
    });
    expect(JSON.stringify(wrong)).not.toContain('secret-word');
  });

  test('lets in for as long as it is not revoked', async () => {
    const { door, tokens, owner } = newDoor({ serve: { users } });
    const token = await tokens.add('ann');
    const [ann, user] = [token, owner].map((each) => door.admitToken(each, '') as Visitor) as [
      Visitor,
      Visitor,
    ];
    expect([ann, user].map((each) => door.isStillAdmitted(each))).toEqual([true, true]);

    await tokens.revoke('ann');
    expect([ann, user].map((each) => door.isStillAdmitted(each))).toEqual([false, true]);
    expect(outcome(door.admitToken(token, ''))).toBe(401);
    const next = door.admitToken(await tokens.add('ann'), '') as Visitor;
    expect([ann, next].map((each) => door.isStillAdmitted(each))).toEqual([false, true]);
    await tokens.revoke('owner');
    expect([next, user].map((each) => door.isStillAdmitted(each))).toEqual([true, false]);
    expect(door.isStillAdmitted({ name: 'owner' })).toBe(false);
  });

  test('lets nobody in while others could have written the files', () => {
    const problems: string[] = [];
    const { door, owner, host } = newDoor({ onProblem: (what) => problems.push(what) });
    const visitor = door.admitToken(owner, '') as Visitor;
    expect(door.isStillAdmitted(visitor)).toBe(true);

    chmodSync(join(host.folders.state, 'serve/token'), 0o644);

    expect(outcome(door.admitToken(owner, ''))).toBe(503);
    expect(door.isStillAdmitted(visitor)).toBe(false);
    expect(problems).toEqual([expect.stringContaining('can be used by other users'), problems[0]]);
    expect(() => newDoor({ host })).toThrow(/can be used by other users/);
  });
});

describe('wrong tokens', () => {
  test('are refused more and more, and never keep the right one out', () => {
    const { door, owner, pass } = newDoor();
    const tries = (count: number, address: string) =>
      Array.from({ length: count }, () => outcome(door.admitToken('wrong', address)));

    expect(tries(11, '10.0.0.1')).toEqual([...Array.from({ length: 10 }, () => 401), 429]);
    expect(door.admitToken('wrong', '10.0.0.1')).toMatchObject({ headers: { 'Retry-After': '6' } });
    expect(outcome(door.admitToken(owner, '10.0.0.1'))).toBe('owner');
    expect(tries(1, '10.0.0.2')).toEqual([401]);
    pass(6_000);
    expect(tries(2, '10.0.0.1')).toEqual([401, 429]);
  });

  test('count wherever they come from, but not requests without one', async () => {
    const { knock, with: withToken, door, port, send } = await knocking();
    for (let count = 0; count < 12; count++) expect(await knock()).toMatchObject({ status: 401 });
    for (let count = 0; count < 9; count++) expect(await withToken('wrong')).toMatchObject({ status: 401 });

    const redeemed = await serve((request) => door.redeem('wrong', request));
    const own = await redeemed.send(
      'GET / HTTP/1.1',
      `Host: localhost:${redeemed.port}`,
      'Connection: close',
    );
    expect(own.answer).toMatchObject({ status: 401 });
    expect(await withToken('wrong')).toMatchObject({ status: 429 });
    const forged = ['Authorization: Bearer wrong', 'X-Forwarded-For: 10.1.1.1', 'Connection: close'];
    expect((await send('GET / HTTP/1.1', `Host: localhost:${port}`, ...forged)).answer).toMatchObject({
      status: 429,
    });
  });
});

describe('the Unix socket', () => {
  test('lets the user in without a token, and others with theirs', async () => {
    const {
      door,
      tokens,
      knock,
      send,
      with: withToken,
    } = await knocking({ serve: { hosts: ['a.example'] } }, socketPath());

    expect(await knock()).toEqual({ name: 'owner' });
    expect(outcome(await withToken('wrong'))).toBe(401);
    expect(outcome(await withToken(await tokens.add('bot')))).toBe('bot');
    // A request that somebody has passed on.
    expect(outcome((await send('GET /acp HTTP/1.1', 'Host: a.example', 'Connection: close')).answer)).toBe(
      401,
    );
    const visitor = door.admit(asked({ host: 'localhost' }), true) as Visitor;
    expect(door.isStillAdmitted(visitor)).toBe(true);
    expect(door.isStillAdmitted(door.admitLocal() as Visitor)).toBe(true);
  });

  test('lets nobody in without a token where a proxy may be behind it', async () => {
    const { door, owner, knock, with: withToken } = await knocking({ isBehindProxy: true }, socketPath());

    expect(outcome(door.admitLocal())).toBe(401);
    expect(outcome(await knock())).toBe(401);
    expect(outcome(await withToken(owner))).toBe('owner');
  });
});

describe('HTTP/2', () => {
  test('is held to the same rules', async () => {
    const { door, owner } = newDoor();
    const { port, ask } = await serveHttp2((request) => door.admit(request, false));
    const withToken = async (headers: OutgoingHttpHeaders) =>
      outcome(await ask({ authorization: `Bearer ${owner}`, ...headers }));

    expect(outcome(await ask({}))).toBe(401);
    expect(await withToken({})).toBe('owner');
    expect(await withToken({ ':authority': 'evil.example' })).toBe(421);
    expect(await withToken({ host: 'evil.example' })).toBe(400);
    expect(await withToken({ origin: 'http://evil.example' })).toBe(403);
    expect(await withToken({ origin: `http://localhost:${port}` })).toBe('owner');
    expect(await withToken({ ':path': `/?x=${owner}` })).toBe(400);
  });
});

/** A request of which nothing counts but its headers. */
function asked(headers: Record<string, string>): IncomingMessage {
  const rawHeaders = Object.entries(headers).flat();
  return { method: 'GET', url: '/acp', headers, rawHeaders, socket: {} } as unknown as IncomingMessage;
}
