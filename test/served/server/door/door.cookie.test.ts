import type { BrowserSecrets } from '../../../../src/served/server/door/tickets';
import type { Visitor } from '../../../../src/served/server/door/visitor';
import { newDoor, outcome, serve, users, type Given } from './served';

/** Browsers say so of what a page of the server itself sends. */
const ofPage = 'Sec-Fetch-Site: same-origin';

describe('a cookie', () => {
  /** A browser that was let in by a ticket. */
  async function browser(given: Given = {}) {
    const { door, tokens, owner } = newDoor({ ...given, serve: { users, ...given.serve } });
    const { port, send } = await serve((request) =>
      request.url!.startsWith('/enter/')
        ? door.redeem(request.url!.slice(7), request)
        : door.admit(request, false),
    );
    const name = given.isBehindProxy === true ? 'agents.example.com' : `localhost:${port}`;
    const host = `Host: ${name}`;
    const enter = async (token = owner) => {
      const ticket = door.newTicket(door.admitToken(token, '') as Visitor);
      const { answer } = await send(`POST /enter/${ticket} HTTP/1.1`, host, 'Connection: close');
      const { cookie, key } = answer as unknown as BrowserSecrets;
      return { cookie, keyed: `Cai-Page-Key: ${key}` };
    };
    const { cookie: whole, keyed } = await enter();
    const cookie = whole.split(';')[0]!;
    const knock = async (first: string, ...headers: string[]) =>
      outcome((await send(`${first} HTTP/1.1`, host, 'Connection: close', ...headers)).answer);
    return { door, tokens, port, send, enter, whole, cookie, keyed, knock };
  }

  test('is kept from scripts and other sites', async () => {
    expect((await browser()).whole).toMatch(
      /^cai=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/,
    );
    const { whole } = await browser({ isBehindProxy: true, serve: { hosts: ['agents.example.com'] } });
    expect(whole).toMatch(
      /^__Host-cai=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure$/,
    );
  });

  test.each([
    ['GET /acp', ['Origin: http://localhost:PORT', 'Upgrade: websocket', 'Connection: Upgrade'], 'owner'],
    ['GET /acp', ['Sec-Fetch-Site: same-origin'], 'owner'],
    ['POST /acp', ['Origin: http://localhost:PORT'], 'owner'],
    // Nobody says that it comes from our page.
    ['GET /', [], 401],
    ['GET /', ['Sec-Fetch-Site: none'], 401],
    ['GET /', ['Upgrade: websocket', 'Connection: Upgrade'], 401],
    ['GET /acp', ['Upgrade: websocket', 'Connection: Upgrade'], 401],
    ['GET /acp', [], 401],
    ['GET /?x', [], 401],
    ['GET /acp', ['Sec-Fetch-Site: none'], 401],
    ['POST /', [], 401],
    ['POST /acp', [], 401],
    ['DELETE /acp', [], 401],
    ['POST /acp', ['Referer: http://localhost:PORT/'], 401],
    // A page that may connect, with a token.
    ['GET /acp', ['Origin: http://localhost:3000', 'Upgrade: websocket', 'Connection: Upgrade'], 401],
    ['POST /acp', ['Origin: http://localhost:3000', 'Sec-Fetch-Site: same-origin'], 401],
    ['GET /acp', ['Origin: http://evil.example', 'Upgrade: websocket', 'Connection: Upgrade'], 403],
    ['GET /acp', ['Origin: null', 'Upgrade: websocket', 'Connection: Upgrade'], 403],
    ['GET /', ['Sec-Fetch-Site: cross-site'], 403],
    ['GET /', ['Host: localhost:PORT'], 400],
  ])('counts for our own page: %s %j: %s', async (first, headers, expected) => {
    const { cookie, keyed, knock, port } = await browser({ serve: { origins: ['http://localhost:3000'] } });
    const sent = headers.map((each) => each.replace('PORT', String(port)));

    expect(await knock(first, `Cookie: a=b; ${cookie}; c=d`, keyed, ...sent)).toBe(expected);
  });

  test.each([
    ['Cookie: COOKIEx'],
    ['Cookie: cai='],
    ['Cookie: cai=; COOKIE'],
    ['Cookie: COOKIE; COOKIE'],
    ['Cookie: Cai=VALUE'],
    ['Cookie: __Host-cai=VALUE'],
    ['Cookie: xcai=VALUE'],
    ['Cookie: cai="VALUE"'],
    ['X: COOKIE'],
  ])('is one and whole: %s', async (header) => {
    const { cookie, keyed, knock } = await browser();
    const sent = header.replaceAll('COOKIE', cookie).replaceAll('VALUE', cookie.slice(4));

    expect(await knock('GET /', `Cookie: ${cookie}`, keyed, ofPage)).toBe('owner');
    expect(await knock('GET /', sent, keyed, ofPage)).toBe(401);
  });

  test('needs its key, which other ports of the host do not get', async () => {
    const { cookie, keyed, enter, knock } = await browser();
    const { keyed: other } = await enter();
    const [, key] = keyed.split(' ');
    const protocol = `Sec-WebSocket-Protocol: cai.page-key.${key}`;

    for (const wrong of [[], [other], [`${keyed}x`], ['Cai-Page-Key:'], [`${protocol}x`], [`${protocol}, x`]])
      expect(await knock('GET /', `Cookie: ${cookie}`, ofPage, ...wrong)).toBe(401);
    expect(await knock('GET /', `Cookie: ${cookie}`, ofPage, protocol)).toBe('owner');
  });

  test('is not good at another name of the server', async () => {
    const { cookie, keyed, send, port } = await browser();

    const { answer } = await send(
      'GET / HTTP/1.1',
      `Host: 127.0.0.1:${port}`,
      `Cookie: ${cookie}`,
      keyed,
      ofPage,
      'Connection: close',
    );
    expect(outcome(answer)).toBe(401);
  });

  test('does not count beside a wrong token', async () => {
    const { cookie, keyed, knock } = await browser();
    const sent = [`Cookie: ${cookie}`, keyed, ofPage];

    expect(await knock('GET /', ...sent, 'Authorization: Bearer wrong')).toBe(401);
  });

  test('ends with the token', async () => {
    const { door, tokens, enter, knock } = await browser();
    const token = await tokens.add('ann');
    const { cookie, keyed } = await enter(token);
    const sent = [`Cookie: ${cookie.split(';')[0]!}`, keyed, ofPage];
    const ticket = door.newTicket(door.admitToken(token, '') as Visitor);
    expect(await knock('GET /', ...sent)).toBe('ann');

    await tokens.revoke('ann');
    await tokens.add('ann');

    expect(await knock('GET /', ...sent)).toBe(401);
    expect(await knock(`GET /enter/${ticket}`)).toBe(401);
  });
});
