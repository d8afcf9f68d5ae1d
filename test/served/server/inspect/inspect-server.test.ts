import { request } from 'node:http';
import { InspectServer } from '../../../../src/served/server/inspect/inspect-server';

const open: InspectServer[] = [];

afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

/** A server that shows three portions, and a way to ask it. */
async function served() {
  const server = new InspectServer({
    about: { name: 'f' },
    reader: () => {
      let number = 0;
      return async () => await Promise.resolve({ number: ++number });
    },
    message: async (at, bytes) => await Promise.resolve({ at, bytes }),
    search: async (text, at, line) => await Promise.resolve({ text, at, line }),
  });
  open.push(server);
  const link = new URL(await server.listen());
  const { origin } = link;
  const ask = async (path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const post = { method: 'POST', body: JSON.stringify(body) };
    const own = { 'content-type': 'application/json', origin, ...headers };
    return await fetch(origin + path, { ...(body !== undefined && post), headers: own });
  };
  const ticket = link.hash.replace('#ticket=', '');
  /** What the page sends, once it was let in. */
  const signIn = async (): Promise<Record<string, string>> => {
    const answer = await ask('/page/sign-in', { ticket });
    const { key } = (await answer.json()) as { key: string };
    return { cookie: answer.headers.get('set-cookie')!.split(';')[0]!, 'cai-page-key': key };
  };
  return { ask, ticket, signIn, origin, link };
}

test('the files are bound to themselves, small, and hold nothing of the recording', async () => {
  const { ask, link } = await served();
  let bytes = 0;

  expect(link.href).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#ticket=[\w-]{43}$/);
  for (const [path, type] of [
    ['/', 'text/html'],
    ['/page/inspect.js', 'text/javascript'],
    ['/page/inspect.css', 'text/css'],
    ['/page/style.css', 'text/css'],
  ] as const) {
    const answer = await ask(path);
    expect(answer.headers.get('content-type')).toBe(`${type}; charset=utf-8`);
    expect(answer.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self';.* frame-ancestors 'none'/,
    );
    const text = await answer.text();
    expect(text).not.toMatch(/<script>|style=| on\w+=|innerHTML|eval\(/);
    bytes += text.length;
  }
  expect(bytes).toBeLessThan(36_000);
});

test('the link lets one browser in, once, and its cookie counts with the key of the page alone', async () => {
  const { ask, ticket, signIn, origin } = await served();
  const port = new URL(origin).port;

  const answer = await ask('/page/sign-in', { ticket: 'wrong' });
  expect(answer.status).toBe(401);
  expect(await answer.text()).toBe(
    'That link has been used, or is older than five minutes: start cai inspect again.\n',
  );
  const headers = await signIn();
  expect(headers.cookie).toMatch(new RegExp(`^cai-inspect-${port}=[\\w-]{43}$`));
  expect((await ask('/page/sign-in', { ticket })).status).toBe(401);
  expect((await ask('/inspect/open', {}, headers)).status).toBe(200);
  expect((await ask('/inspect/open', {})).status).toBe(401);
  expect((await ask('/inspect/open', {}, { cookie: headers.cookie! })).status).toBe(401);
  expect((await ask('/inspect/open', {}, { 'cai-page-key': headers['cai-page-key']! })).status).toBe(401);
});

test('other pages, names and kinds of requests are refused', async () => {
  const { ask, signIn, origin } = await served();
  const headers = await signIn();
  const status = async (host: string): Promise<number | undefined> =>
    await new Promise((resolve, reject) => {
      request(`${origin}/`, { headers: { host } }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      })
        .on('error', reject)
        .end();
    });

  expect((await ask('/', undefined, { origin: 'https://evil.example' })).status).toBe(403);
  expect((await ask('/inspect/open', {}, { ...headers, origin: 'https://evil.example' })).status).toBe(403);
  expect(await status('evil.example')).toBe(421);
  expect(await status('localhost')).toBe(421);
  expect(await status(new URL(origin).host)).toBe(200);
  expect((await ask('/inspect/open', {}, { ...headers, 'content-type': 'text/plain' })).status).toBe(415);
  expect((await ask('/inspect/open', undefined, headers)).status).toBe(404);
  expect((await ask('/inspect/other', {}, headers)).status).toBe(404);
  expect((await ask('/inspect/open', 7, headers)).status).toBe(400);
  expect((await ask('/inspect/search', { text: 'x'.repeat(5_000) }, headers)).status).toBe(413);
});

test('each page reads on its own; questions in another form are refused', async () => {
  const { ask, signIn } = await served();
  const headers = await signIn();
  const json = async (path: string, body: object) =>
    (await (await ask(path, body, headers)).json()) as object;

  expect(await json('/inspect/open', {})).toEqual({ reader: 1, about: { name: 'f' } });
  expect(await json('/inspect/open', {})).toMatchObject({ reader: 2 });
  expect(await json('/inspect/rows', { reader: 1 })).toEqual({ number: 1 });
  expect(await json('/inspect/rows', { reader: 1 })).toEqual({ number: 2 });
  expect(await json('/inspect/rows', { reader: 2 })).toEqual({ number: 1 });
  expect(await json('/inspect/message', { at: 7, bytes: 8 })).toEqual({ at: 7, bytes: 8 });
  expect(await json('/inspect/search', { text: 'x', at: 7, line: 2 })).toEqual({ text: 'x', at: 7, line: 2 });
  for (const body of [{ at: -1, bytes: 8 }, { at: 1.5, bytes: 8 }, { at: 1 }, { at: '1', bytes: 8 }])
    expect((await ask('/inspect/message', body, headers)).status).toBe(404);
  for (let count = 0; count < 8; count++) await json('/inspect/open', {});
  expect((await ask('/inspect/rows', { reader: 1 }, headers)).status).toBe(410);
  expect((await ask('/inspect/rows', { reader: 'x' }, headers)).status).toBe(410);
});
