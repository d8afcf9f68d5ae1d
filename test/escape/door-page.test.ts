/**
 * Attacks on how browsers come in to `cai serve`: its tickets, which work once, and the cookies that they become; and on
 * the tokens that people make in the page, whom a proxy has signed in.
 */
import { attempt, reachedIf } from './attempt';
import { DoorWorld, initialize, json, type Headers } from './door-world';

let world: DoorWorld;
beforeEach(async () => void (world = await DoorWorld.open('[serve]\nidentity_header = "X-Person"\n')));
afterEach(() => world.served.end());

const ticketMs = 5 * 60_000;
const cookieMs = 12 * 60 * 60_000;

/** Whoever is let in has an answer, or lacks the type of a stream. */
const isIn = (status: number): boolean => status === 406 || status < 400;

/** Status of a request of a browser, by default for what the page shows. */
async function asked(headers: Headers, path = '/page/state', method = 'GET', body?: string): Promise<number> {
  return (await world.ask(path, { method, headers, ...(body !== undefined && { body }) })).status;
}

/** All that a page does with a cookie; each is a name and a status. */
async function uses(headers: Headers): Promise<readonly (readonly [string, number])[]> {
  const typed = { ...headers, ...json };
  return [
    ['state', await asked(headers)],
    ['request', await asked(headers, '/acp')],
    ['message', await asked(typed, '/acp', 'POST', initialize)],
    ['socket', await world.upgrade(headers)],
    ['link', await asked(typed, '/page/tickets', 'POST', '{}')],
    ['leaving', await asked(typed, '/page/sign-out', 'POST', '{}')],
  ];
}

/** Which of these have come in; nothing passes that was not answered. */
function through(tried: readonly (readonly [string, number])[]): string | undefined {
  const lost = tried.find(([, status]) => !(status >= 100));
  if (lost !== undefined) throw new Error(`no answer: ${lost[0]}`);
  const inside = tried.filter(([, status]) => isIn(status));
  return reachedIf(inside.length > 0, inside.join('; '));
}

/** That cookie is good for the page itself. */
async function works(cookie: string): Promise<void> {
  const status = await asked({ ...world.page, cookie });
  if (!isIn(status)) throw new Error(`it was not tried: the cookie is refused with ${status}`);
}

attempt('a ticket that was used signs in somebody else', async () => {
  const used = await world.ticketFor('ann');
  const first = (await world.signIn(used)).status;
  const again = (await world.signIn(used)).status;
  const raced = await world.ticketFor('ann');
  const race = await Promise.all(Array.from({ length: 20 }, () => world.signIn(raced)));
  const won = race.filter(({ status }) => status === 200).length;
  if (first !== 200 || won === 0) throw new Error(`it was not tried: ${first}, ${won}`);
  return reachedIf(isIn(again) || won > 1, `${again}, ${won} of 20`);
});

attempt('a ticket that somebody finds later, or a cookie of yesterday, still lets in', async () => {
  const [early, late] = [await world.ticketFor('ann'), await world.ticketFor('ann')];
  world.later(ticketMs - 60_000);
  if ((await world.signIn(early)).status !== 200) throw new Error('a ticket of some minutes is refused');
  const cookie = await world.cookieOf('bob');
  world.later(ticketMs);
  const found = (await world.signIn(late)).status;
  world.later(cookieMs - 120_000);
  await works(cookie);
  world.later(cookieMs + ticketMs);
  return through([['ticket', found], ...(await uses({ ...world.page, cookie }))]);
});

attempt('somebody guesses a ticket, or uses those up that others have', async () => {
  const right = await world.ticketFor('ann');
  const guesses: unknown[] = [
    ...['', ' ', '*', right.slice(0, -1), right.slice(1), `${right}=`, `${right} `, `${right}\0`],
    ...[right.toUpperCase(), [right], { ticket: right }, null, true, 0, '__proto__', 'constructor'],
  ];
  const tried: [string, number][] = [];
  for (const guess of guesses) tried.push([String(guess), (await world.signIn(guess)).status]);
  for (let n = 0; n < 30; n++) tried.push(['random', (await world.signIn(`${right.slice(2)}${n}`)).status]);
  if (!tried.some(([, status]) => status === 429)) return 'nobody counts the guesses';
  const own = (await world.signIn(right)).status;
  return through(tried) ?? reachedIf(own !== 200, `ann was kept out: ${own}`);
});

attempt('a ticket counts that is somewhere else than in the body of the page', async () => {
  const ticket = await world.ticketFor('ann');
  const { page } = world;
  const post = (path: string, headers: Headers, body = '{}') => asked(headers, path, 'POST', body);
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const elsewhere = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
  const found = through([
    ['query of a sign-in', await post(`/page/sign-in?ticket=${ticket}`, { ...page, ...json })],
    ['query of the state', await asked(page, `/page/state?ticket=${ticket}`)],
    ['query of ACP', await asked(page, `/acp?ticket=${ticket}`)],
    ['socket', await world.upgrade(page, [], `/acp?ticket=${ticket}`)],
    ['subprotocol', await world.upgrade(page, [ticket])],
    ['GET', await asked(page, `/page/sign-in?ticket=${ticket}`)],
    ['header', await asked({ ...page, authorization: `Bearer ${ticket}` })],
    ['cookie', await asked({ ...page, cookie: `cai=${ticket}` })],
    ['form', await post('/page/sign-in', { ...page, ...form }, `ticket=${ticket}`)],
    [
      'text',
      await post('/page/sign-in', { ...page, 'content-type': 'text/plain' }, `{"ticket":"${ticket}"}`),
    ],
    ['other page', (await world.signIn(ticket, elsewhere)).status],
    ['other page, no origin', await post('/page/sign-in', { ...json, 'sec-fetch-site': 'cross-site' }, `{"ticket":"${ticket}"}`)], // prettier-ignore
  ]);
  // The page itself is for everybody: with a ticket it tells nothing more, and sets no cookie.
  const { headers } = await world.ask(`/?ticket=${ticket}`, { headers: page });
  if (headers['set-cookie'] !== undefined) return 'a link alone signs in';
  if ((await world.signIn(ticket)).status !== 200) throw new Error('it was not tried: the ticket is gone');
  return found;
});

attempt('a page of somebody else uses the cookie of a browser', async () => {
  const cookie = await world.cookieOf('ann');
  const { port } = new URL(world.http);
  const origins = ['https://evil.example', 'null', '', `${world.http}.evil.example`, `http://localhost:${port}`, 'http://127.0.0.1', world.https]; // prettier-ignore
  const pages: Headers[] = [
    ...origins.map((origin) => ({ origin })),
    ...origins.map((origin) => ({ origin, 'sec-fetch-site': 'same-origin' })),
    ...['cross-site', 'same-site', 'none'].map((site) => ({ 'sec-fetch-site': site })),
    { referer: `${world.http}/` },
    {},
  ];
  const tried: [string, number][] = [];
  for (const page of pages)
    for (const [name, status] of await uses({ ...page, cookie }))
      tried.push([`${name} ${JSON.stringify(page)}`, status]);
  await works(cookie);
  return through(tried);
});

attempt('a cookie, or a ticket, outlives the token that it came from', async () => {
  const cookie = await world.cookieOf('ann');
  const ticket = await world.ticketFor('ann');
  const client = await world.connect({ ...world.page, cookie });
  await client.call('initialize', { protocolVersion: 1 });
  await works(cookie);
  world.revoke('ann');
  const code = await client.closed;
  const back = { ...world.page, cookie, 'acp-connection-id': client.id, 'cai-received': '0' };
  return (
    through([
      ...(await uses({ ...world.page, cookie })),
      ['coming back', await world.upgrade(back)],
      ['ticket', (await world.signIn(ticket)).status],
    ]) ?? reachedIf(code !== 1008, `the socket was closed with ${code}`)
  );
});

attempt('a cookie is good under another name of the server, which somebody else may have', async () => {
  const cookie = await world.cookieOf('ann');
  const { port } = new URL(world.http);
  const tried: [string, number][] = [];
  for (const name of ['evil.example', 'localhost', 'cai.localhost', '127.0.0.1.evil.example', '127.1']) {
    const host = `${name}:${port}`;
    for (const [use, status] of await uses({ host, origin: `http://${host}`, cookie }))
      tried.push([`${use} ${host}`, status]);
  }
  const secure = new URL(world.https);
  for (const name of ['cai', '__Host-cai']) {
    const value = `${name}=${cookie.split('=')[1]!}`;
    const headers = { cookie: value, origin: world.https };
    tried.push([`HTTP/2 ${name}`, await world.ask2(headers)]);
    tried.push([`HTTP/2 for ${world.host}`, await world.ask2({ ...headers, ':authority': world.host })]);
    tried.push([`HTTP/2 by host`, await world.ask2({ ...headers, ':authority': secure.host, host: world.host })]); // prettier-ignore
  }
  await works(cookie);
  return through(tried);
});

attempt(
  'a program behind another port of the host gets the cookie from a browser, and comes in with it',
  async () => {
    const [cookie, other] = [await world.cookieOf('ann'), await world.cookieOf('ann')];
    // What a browser keeps for the page's own port is missing, and cannot be had by the cookie.
    const guesses = ['', cookie.split('=')[1]!, other.split('=')[1]!, 'undefined', '0'.repeat(43)];
    const tried: [string, number][] = [];
    for (const key of guesses)
      for (const [name, status] of await uses({ ...world.page, cookie, 'cai-page-key': key }))
        tried.push([`${name} ${key}`, status]);
    for (const path of ['/', '/page/app.js', '/page/state?key', '/healthz']) {
      const { text, headers } = await world.ask(path, {
        headers: { ...world.page, cookie, 'cai-page-key': '' },
      });
      if (headers['set-cookie'] !== undefined || text.includes('"key"')) return `${path} tells the key`;
    }
    await works(cookie);
    return through(tried);
  },
);

attempt('the cookie of one user is good for the session of another, or for the owner', async () => {
  const { client: ann, sessionId } = await world.session(world.ann, world.folderOf('ann'));
  const cookie = await world.cookieOf('bob');
  const headers = { ...world.page, cookie };
  const { text } = await world.ask('/page/state', { headers });
  if (!text.includes('"name":"bob"')) throw new Error(`it was not tried: ${text}`);
  const bob = await world.connect(headers);
  await bob.call('initialize', { protocolVersion: 1 });
  const params = { sessionId, cwd: world.folderOf('ann'), mcpServers: [], prompt: [] };
  const methods = ['session/new', 'session/load', 'session/resume', 'session/fork', 'session/prompt'];
  const answers = await Promise.all(methods.map((method) => bob.call(method, params)));
  const stream = { ...headers, 'acp-connection-id': ann.id };
  const refused = through([
    ['connection', await world.upgrade({ ...stream, 'cai-received': '0' })],
    ['its end', await asked(stream, '/acp', 'DELETE')],
    ['link', await asked({ ...headers, ...json }, '/page/tickets', 'POST', '{}')],
    ['link for ann', await asked({ ...headers, ...json }, '/page/tickets', 'POST', '{"user":"ann"}')],
    ['link by a token', await asked({ ...world.bob, ...json }, '/page/tickets', 'POST', '{"user":"ann"}')],
    ['link by the cookie of the owner', await asked({ ...world.page, ...json, cookie: await world.cookieOf('owner') }, '/page/tickets', 'POST', '{}')], // prettier-ignore
    ['metrics', await asked(headers, '/metrics')],
  ]);
  for (const each of [ann, bob]) each.socket.close();
  const open = answers.filter(({ error }) => error === undefined);
  const isTold = text.includes(sessionId) || text.includes('/ann');
  return refused ?? reachedIf(open.length > 0 || isTold, `${JSON.stringify(open)} ${text}`);
});

attempt('a cookie counts after its browser has signed out, or beside a second one', async () => {
  const [cookie, other] = [await world.cookieOf('ann'), await world.cookieOf('bob')];
  const two = await asked({ ...world.page, cookie: `${cookie}; ${other}` });
  const reversed = await asked({ ...world.page, cookie: `${other}; ${cookie}` });
  await works(cookie);
  await works(other);
  const left = await asked({ ...world.page, ...json, cookie }, '/page/sign-out', 'POST', '{}');
  if (left !== 200) throw new Error(`it was not tried: ${left}`);
  const after = await uses({ ...world.page, cookie });
  return through([['two', two], ['two, reversed', reversed], ...after]);
});

/** What ann's browser sends by a proxy that has signed her in, and bob's. */
function proxied(): readonly [Headers, Headers] {
  const proxy = { ...world.newProxy(), ...world.page };
  return [
    { ...proxy, 'x-person': 'ann' },
    { ...proxy, 'x-person': 'bob' },
  ];
}

const laptop = '{"label":"laptop"}';
const makes = async (headers: Headers, body = laptop, type: Headers = json) =>
  await world.ask('/page/tokens', { method: 'POST', headers: { ...headers, ...type }, body });
const ends = async (headers: Headers, body = laptop) =>
  await asked({ ...headers, ...json }, '/page/tokens/end', 'POST', body);

/** The headers by which a program of ann's comes in, with a token that she has made. */
async function made(ann: Headers): Promise<{ authorization: string }> {
  const { status, text } = await makes(ann);
  if (status !== 200) throw new Error(`it was not tried: ${status} ${text}`);
  return { authorization: `Bearer ${(JSON.parse(text) as { token: string }).token}` };
}

attempt('somebody sees, ends or makes a token of another, or of the owner', async () => {
  const [ann, bob] = proxied();
  const token = await made(ann);
  const { text } = await world.ask('/page/state', { headers: bob });
  const names = ['laptop', 'ann', 'sso', 'owner', '', '*'];
  const tried: [string, number][] = [];
  for (const name of names) {
    tried.push([`bob ends ${name}`, await ends(bob, JSON.stringify({ label: name }))]);
    tried.push([
      `as ann ${name}`,
      await ends(bob, JSON.stringify({ label: name, name: 'ann', user: 'ann' })),
    ]);
  }
  const others: Headers[] = [
    { ...bob, 'x-person': 'owner' },
    { ...bob, 'x-person': 'ann, bob' },
    { ...world.page, 'x-person': 'ann' },
    { ...world.bob, 'x-person': 'ann' },
    { ...world.page, 'x-person': 'ann', cookie: await world.cookieOf('bob') },
  ];
  for (const [index, headers] of others.entries()) {
    tried.push([`ends ${index}`, await ends(headers)]);
    tried.push([`makes ${index}`, (await makes(headers, '{"label":"other"}')).status]);
  }
  // A name in the body is nobody's: the token is bob's own.
  const mine = await makes(
    bob,
    '{"label":"mine","name":"ann","user":"owner","expires":"9999-01-01T00:00:00Z"}',
  );
  const whose = await world.ask('/page/state', {
    headers: { authorization: `Bearer ${(JSON.parse(mine.text) as { token: string }).token}` },
  });
  if (!whose.text.includes('"name":"bob"')) return `a token of another: ${whose.text}`;
  if (!isIn(await asked(token))) return 'the token of ann is gone';
  return through(tried) ?? reachedIf(text.includes('laptop'), text);
});

attempt(
  'a token that somebody has made for a program can more than they, or makes itself another',
  async () => {
    const [ann] = proxied();
    const token = await made(ann);
    const client = await world.connect(token);
    await client.call('initialize', { protocolVersion: 1 });
    const own = await client.call('session/new', { cwd: world.folderOf('ann'), mcpServers: [] });
    if (own.error !== undefined) throw new Error(`it was not tried: ${own.error.message}`);
    const other = await client.call('session/new', { cwd: world.folderOf('bob'), mcpServers: [] });
    client.socket.close();
    // Signed in by that token, a browser has no more than it.
    const { headers, text } = await world.ask('/page/sign-in', {
      ...{ method: 'POST', headers: { ...world.page, ...json, ...token }, body: '{}' },
    });
    const cookie = headers['set-cookie']![0]!.split(';')[0]!;
    const browser = { ...world.page, cookie, 'cai-page-key': (JSON.parse(text) as { key: string }).key };
    const tried: [string, number][] = [
      ['other agent', await world.upgrade(token, [], '/acp?agent=flood')],
      ['metrics', await asked(token, '/metrics')],
      ['link', await asked({ ...token, ...json }, '/page/tickets', 'POST', '{}')],
    ];
    for (const [name, way] of Object.entries({
      token: { ...world.page, ...token },
      browser,
      named: { ...browser, ...token, 'x-person': 'ann' },
    })) {
      tried.push([`${name} makes`, (await makes(way, '{"label":"another"}')).status]);
      tried.push([`${name} ends`, await ends(way)]);
    }
    return through(tried) ?? reachedIf(other.error === undefined, 'a session in the folder of bob');
  },
);

attempt('a page of somebody else makes or ends a token by what a browser is signed in to', async () => {
  const [ann] = proxied();
  const token = await made(ann);
  const { origin: _, 'sec-fetch-site': __, ...sent } = ann;
  const pages: Headers[] = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: world.http, 'sec-fetch-site': 'cross-site', host: 'evil.example' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ];
  const tried: [string, number][] = [];
  for (const page of pages) {
    const headers = { ...sent, ...page };
    tried.push([`makes ${JSON.stringify(page)}`, (await makes(headers, '{"label":"theirs"}')).status]);
    tried.push([`ends ${JSON.stringify(page)}`, await ends(headers)]);
    tried.push([`sees ${JSON.stringify(page)}`, await asked(headers)]);
  }
  // What a browser sends for a page without asking the server before, whatever it leaves out.
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    '',
  ])
    tried.push([type, (await makes(sent, '{"label":"theirs"}', { 'content-type': type })).status]);
  for (const path of ['/page/tokens?label=theirs', '/page/tokens/end?label=laptop'])
    tried.push([path, await asked(sent, path)]);
  if (!isIn(await asked(token))) return 'the token is gone';
  const { text } = await world.ask('/page/state', { headers: ann });
  return through(tried) ?? reachedIf(text.includes('theirs'), text);
});

attempt('a token goes on letting in after its person has ended it, and lets its clients stay', async () => {
  const [ann] = proxied();
  const token = await made(ann);
  const client = await world.connect(token);
  await client.call('initialize', { protocolVersion: 1 });
  if ((await ends(ann)) !== 200) throw new Error('it was not tried: it does not end');
  const code = await client.closed;
  const back = { ...token, 'acp-connection-id': client.id, 'cai-received': '0' };
  return (
    through([...(await uses({ ...world.page, ...token })), ['coming back', await world.upgrade(back)]]) ??
    reachedIf(code !== 1008, `the socket was closed with ${code}`)
  );
});

attempt('somebody fills the file of tokens, so that others come in no more', async () => {
  const [ann, bob] = proxied();
  const many = await Promise.all(Array.from({ length: 30 }, (_, n) => makes(ann, `{"label":"${n}"}`)));
  const kept = many.filter(({ status }) => status === 200).length;
  const long = [
    await makes(ann, JSON.stringify({ label: 'x'.repeat(3_000) })),
    await makes(ann, 'x'.repeat(9_000)),
  ];
  const { authorization } = await made(bob);
  if (kept === 0 || !isIn(await asked({ authorization }))) throw new Error(`it was not tried: ${kept}`);
  return reachedIf(kept > 10 || long.some(({ status }) => isIn(status)), `${kept} tokens`);
});
