/** Attacks on `cai serve`: by strangers, by web pages, by people who may use a part of it, and by agents. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import * as net from 'node:net';
import { join } from 'node:path';
import { buildTimeoutMs, Place } from '../engine/place';
import { patienceMs } from '../support/patience';
import * as refused from '../support/refused-requests';
import { Served } from '../support/served';
import { attempt, reachedIf } from './attempt';
import { DoorWorld, initialize, json, type Headers } from './door-world';

let world: DoorWorld;

beforeAll(async () => {
  world = await DoorWorld.open();
}, buildTimeoutMs);

afterAll(async () => {
  await world.served.end();
});

/** `GET /acp` of whoever has come in: it lacks the type of a stream. */
const isIn = (status: number): boolean => status === 406 || status < 400;

/** Which of these have come in; each is a name and a status. Nothing passes that was not answered. */
async function entered(tried: Iterable<readonly [string, Promise<number>]>): Promise<string | undefined> {
  const all = await Promise.all([...tried].map(async ([name, status]) => [name, await status] as const));
  const lost = all.find(([, status]) => !(status >= 100));
  if (lost !== undefined) throw new Error(`no answer: ${lost[0]}`);
  // What makes the right one right is tried as well.
  if (!isIn((await world.ask('/acp', { headers: world.ann })).status)) throw new Error('ann cannot come in');
  const inside = all.filter(([, status]) => isIn(status));
  return reachedIf(inside.length > 0, inside.join('; '));
}

const statusOf = (text: string): number => Number(/^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1] ?? 0);
const asked = async (path: string, options?: Parameters<DoorWorld['ask']>[1]): Promise<number> =>
  (await world.ask(path, options)).status;
const rawStatus = async (bytes: string): Promise<number> => statusOf(await world.raw(bytes));
const bare = ({ authorization }: Headers): string => authorization!.replace('Bearer ', '');
const text = (words: string) => [{ type: 'text', text: words }];

const annsToken = (): string => `Authorization: ${world.ann.authorization!}`;

/** An upgrade, and the frame with which a WebSocket is closed. */
const upgrade = `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${'A'.repeat(22)}==\r\n\r\n\x88\x80\0\0\0\0`;

/** Which of these headers have let somebody in, by a request or by an upgrade; PORT is the server's. */
async function enteredWith(rows: readonly string[]): Promise<string | undefined> {
  const { port } = new URL(world.http);
  const tried = (headers: string) =>
    ['Connection: close\r\n\r\n', upgrade].map(async (rest) => {
      return await rawStatus(`GET /acp HTTP/1.1\r\n${headers.replaceAll('PORT', port)}\r\n${rest}`);
    });
  const right = await Promise.all(tried(`Host: localhost:PORT\r\n${annsToken()}`));
  if (right.join() !== '406,101') throw new Error(`ann cannot come in: ${right.join()}`);
  return await entered(rows.flatMap((headers) => tried(headers).map((status) => [headers, status] as const)));
}

/** The server answers somebody else meanwhile. */
async function stillServes(): Promise<void> {
  if (!isIn((await world.ask('/acp', { headers: world.owner })).status)) throw new Error('nobody is served');
}

attempt('a stranger without a token is let in', async () => {
  const plain = await world.raw(`${initialize}\n`, world.served.addresses[2]);
  if (plain === '') throw new Error('no answer');
  const post = { method: 'POST', headers: json, body: initialize };
  return (
    reachedIf(plain.includes('"result"'), plain) ??
    (await entered([
      ['GET', asked('/acp')],
      ['POST', asked('/acp', post)],
      ['DELETE', asked('/acp', { method: 'DELETE' })],
      ['metrics', asked('/metrics')],
      ['WebSocket', world.upgrade({})],
      ['HTTP/2', world.ask2({})],
      ['empty', asked('/acp', { headers: { authorization: '' } })],
      ['only the scheme', asked('/acp', { headers: { authorization: 'Bearer ' } })],
    ]))
  );
});

attempt('a stranger who guesses tokens comes in, or keeps the owner out', async () => {
  const right = bare(world.owner);
  const near = Array.from(right, (_, at) => `${right.slice(0, at)}${right.slice(at + 1)}`);
  const statuses: number[] = [];
  for (const guess of [...near, right.toUpperCase(), `${right} `, `${right}=`].slice(0, 45))
    statuses.push(
      await asked('/acp', {
        headers: { authorization: `Bearer ${guess.trim()}x`, 'x-forwarded-for': String(statuses.length) },
      }),
    );
  if (!statuses.includes(429)) throw new Error(`nobody counted: ${statuses.join()}`);
  await stillServes();
  return reachedIf(statuses.some(isIn), statuses.join());
});

attempt('a stranger who holds open as many sockets as they like keeps the owner out', async () => {
  const places = [world.http, world.served.addresses[2]!].map(
    (each) => new URL(each.replace(/^tcp:/, 'http:')),
  );
  const held = await Promise.all(
    Array.from({ length: 800 }, async (_, at) => {
      const socket = net.connect({ host: '127.0.0.1', port: Number(places[at % 2]!.port) });
      // Those that are closed at once are not missed.
      socket.on('error', () => undefined);
      await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
      socket.write(`GET / HTTP/1.1\r\nHost: ${world.host}\r\n`);
      return socket;
    }),
  );
  const statuses: number[] = [];
  for (let i = 0; i < 10; i++) statuses.push(await asked('/acp', { headers: world.owner }).catch(() => 0));
  const plain = net.connect({ host: '127.0.0.1', port: Number(places[1]!.port) });
  plain.on('error', () => undefined).write(`Authorization: ${world.owner.authorization!}\n${initialize}\n`);
  const [said] = (await Promise.race([once(plain, 'data'), once(plain, 'close')])) as unknown[];
  plain.destroy();
  for (const socket of held) socket.destroy();
  const isServed = statuses.every((status) => status === 406) && String(said).includes('"result"');
  return reachedIf(!isServed, `${statuses.join()} ${String(said)}`);
});

attempt('a token counts that is somewhere else than in its header', async () => {
  const token = bare(world.ann);
  const body = `{"authorization":"Bearer ${token}"}`;
  const rows = refused.tokens.map(
    ([headers]) => `Host: localhost:PORT\r\n${headers.replaceAll('TOKEN', token)}`,
  );
  return (
    (await enteredWith(rows)) ??
    (await entered([
      ['query', asked(`/acp?x=${token}`)],
      ['path', asked(`/acp/${token}`)],
      ['body', asked('/acp', { method: 'POST', headers: json, body })],
    ]))
  );
});

attempt('a cookie counts that the server has not given, or that a ticket never became', async () => {
  const own = { origin: world.http, 'sec-fetch-site': 'same-origin' };
  const values = ['', 'x', bare(world.ann), 'owner', '../owner', `${bare(world.ann)}; cai=x`];
  return await entered(
    values.flatMap((value): [string, Promise<number>][] => [
      [`page ${value}`, asked('/acp', { headers: { ...own, cookie: `cai=${value}` } })],
      [`socket ${value}`, world.upgrade({ ...own, cookie: `cai=${value}` })],
    ]),
  );
});

attempt('a page of somebody else uses the server with a right token', async () => {
  return await enteredWith(
    refused.pages.map(([headers]) => `Host: localhost:PORT\r\n${headers}\r\n${annsToken()}`),
  );
});

attempt('a page posts from elsewhere what browsers send without asking', async () => {
  const types = ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', ''];
  const origin = 'https://evil.example';
  const preflight = await world.ask('/acp', {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type',
    },
  });
  const granted = preflight.headers['access-control-allow-origin'];
  // Without an origin, as older browsers, and with the token that a helper of the page may have.
  const posts = types.flatMap((type): [string, Promise<number>][] => {
    const headers = { ...world.ann, ...(type !== '' && { 'content-type': type }) };
    const post = (more: Headers) =>
      asked('/acp', { method: 'POST', headers: { ...headers, ...more }, body: initialize });
    return [
      [type, post({})],
      [`${type} from elsewhere`, post({ origin })],
    ];
  });
  return reachedIf(preflight.status < 400, `${preflight.status} ${granted}`) ?? (await entered(posts));
});

attempt(
  'a name that leads to this machine, or another server’s, or one of two, reaches the server',
  async () => {
    const { host } = new URL(world.https);
    return (
      (await enteredWith(refused.hosts.map(([headers]) => `${headers}\r\n${annsToken()}`))) ??
      (await entered([
        ['HTTP/2', world.ask2({ ':authority': 'evil.example', ...world.ann })],
        ['HTTP/2, evil first', world.ask2({ ':authority': 'evil.example', host, ...world.ann })],
        ['HTTP/2, evil last', world.ask2({ ':authority': host, host: 'evil.example', ...world.ann })],
      ]))
    );
  },
);

attempt('a request that two readers would part differently smuggles another', async () => {
  const { host } = world;
  const head = (more: string) => `POST /acp HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`;
  const hidden = `GET /acp HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${world.ann.authorization!}\r\nConnection: close\r\n\r\n`;
  const whole = `Authorization: ${world.ann.authorization!}\r\nContent-Type: application/json\r\n`;
  const attacks = {
    'CL.TE': `${head('Content-Length: 4\r\nTransfer-Encoding: chunked\r\n')}0\r\n\r\n${hidden}`,
    'TE.CL': `${head(`Transfer-Encoding: chunked\r\nContent-Length: 5\r\n${whole}`)}0\r\n\r\n${hidden}`,
    'two lengths': `${head('Content-Length: 0\r\nContent-Length: 5\r\n')}${hidden}`,
    'a list of lengths': `${head('Content-Length: 0, 5\r\n')}${hidden}`,
    'a length with a sign': `${head('Content-Length: +0\r\n')}${hidden}`,
    'TE by another name': `${head('Transfer-Encoding: xchunked\r\n')}0\r\n\r\n${hidden}`,
    'TE twice': `${head('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n')}0\r\n\r\n${hidden}`,
    'a space before the colon': `${head('Content-Length : 0\r\n')}${hidden}`,
    'a folded line': `${head(`X: y\r\n Authorization: ${world.ann.authorization!}\r\nContent-Length: 0\r\n`)}${hidden}`,
    'bare line feeds': `POST /acp HTTP/1.1\nHost: ${host}\nContent-Length: 0\n\n${hidden}`,
    'NUL in a header': `${head(`X: a\0b\r\nContent-Length: 0\r\n`)}${hidden}`,
    'NUL in a name': `${head(`X\0: b\r\nContent-Length: 0\r\n`)}${hidden}`,
    'a chunk of a wrong length': `${head('Transfer-Encoding: chunked\r\n')}g\r\n\r\n${hidden}`,
    'an endless chunk length': `${head('Transfer-Encoding: chunked\r\n')}ffffffffffffffffff\r\n${hidden}`,
  };
  const answers = await Promise.all(
    Object.entries(attacks).map(async ([name, bytes]) => {
      const answer = await world.raw(bytes);
      if (!answer.startsWith('HTTP/1.1 ')) throw new Error(`${name}: no answer`);
      return [name, answer.match(/HTTP\/1\.1 \d{3}/g)!.join()] as const;
    }),
  );
  // Whatever is behind the first request is not read.
  const through = answers.filter(([, statuses]) => !/^HTTP\/1\.1 4\d\d$/.test(statuses));
  return reachedIf(through.length > 0, through.join('; '));
});

attempt('a path that is written in another way leads past the door, or to a file', async () => {
  const inside = 'acp/../metrics acp/..;/metrics %61cp acp;x acp%2f acp%2e acp/. acp/%2e%2e/metrics'.split(
    ' ',
  );
  const files = ['..', '%2e%2e', '..%2f', '..%5c', '.%00.'].flatMap((up) =>
    ['page', 'acp', ''].map((first) => `${first}/${`${up}/`.repeat(12)}etc/passwd`),
  );
  const paths = [...inside, ...files, '/acp', '/evil.example/acp', '\\evil.example/acp', '?/../acp', '#acp'];
  const answers = await Promise.all(
    paths.map(async (path) => {
      const [stranger, ann] = await Promise.all([
        world.ask(`/${path}`),
        world.ask(`/${path}`, { headers: world.ann }),
      ]);
      const isFile = [stranger, ann].some((answer) => answer.text.includes('root:'));
      return isFile || /^cai_serve_/m.test(stranger.text + ann.text) || stranger.status === 406 ? path : '';
    }),
  );
  return reachedIf(answers.join('') !== '', answers.filter((path) => path !== '').join(' '));
});

attempt('headers of a proxy that is not there make a stranger local', async () => {
  const names = ['x-forwarded-for', 'x-real-ip', 'forwarded', 'x-forwarded-host', 'x-client-cert'];
  const values = ['127.0.0.1', 'for=127.0.0.1;host=localhost;proto=https', world.host, 'CN=ann'];
  const evil = { ...world.ann, host: 'evil.example', 'x-forwarded-host': world.host };
  return await entered([
    ...names.flatMap((name) =>
      values.map((value) => [`${name}: ${value}`, asked('/acp', { headers: { [name]: value } })] as const),
    ),
    ['another host', asked('/acp', { headers: { ...evil, 'x-forwarded-proto': 'http' } })],
  ]);
});

attempt('a token that was revoked is good for one more message, or for coming back', async () => {
  const own = await DoorWorld.open();
  try {
    const { client, sessionId } = await own.session(own.ann, own.folderOf('ann'));
    const before = await client.prompt(sessionId, 'hello');
    if (before.error !== undefined) throw new Error('it was not tried');
    own.revoke('ann');
    const code = await client.closed;
    const back = { ...own.ann, 'acp-connection-id': client.id, 'cai-received': '0' };
    const statuses = await Promise.all([own.upgrade(back), own.upgrade(own.ann), own.ask2(own.ann)]);
    return reachedIf(code !== 1008 || statuses.some(isIn), `${code}, ${statuses.join()}`);
  } finally {
    await own.served.end();
  }
});

attempt('somebody uses the connection of another by its id', async () => {
  const ann = await world.post(world.ann);
  const socket = await world.connect(world.ann);
  const id = { 'acp-connection-id': ann['acp-connection-id']! };
  const stream = { accept: 'text/event-stream' };
  const body = '{"jsonrpc":"2.0","id":9,"method":"session/list","params":{}}';
  const back = { ...world.bob, 'acp-connection-id': socket.id, 'cai-received': '0' };
  const found = await entered([
    ['stream', asked('/acp', { headers: { ...world.bob, ...id, ...stream } })],
    ['stream again', asked('/acp', { headers: { ...world.bob, ...id, ...stream, 'last-event-id': '0' } })],
    ['message', asked('/acp', { method: 'POST', headers: { ...world.bob, ...id, ...json }, body })],
    ['socket', world.upgrade(back)],
    ['socket for a stream', world.upgrade({ ...back, ...id })],
    ['end', asked('/acp', { method: 'DELETE', headers: { ...world.bob, ...id } })],
    ['end without a name', asked('/acp', { method: 'DELETE', headers: id })],
  ]);
  // It is still there for whom it belongs to.
  const end = await asked('/acp', { method: 'DELETE', headers: ann });
  socket.socket.close();
  return found ?? reachedIf(end !== 202, `the connection was ended: ${end}`);
});

attempt('somebody reads, prompts, cancels or ends the live session of another', async () => {
  const { client: ann, sessionId } = await world.session(world.ann, world.folderOf('ann'));
  const { client: bob } = await world.session(world.bob, world.folderOf('bob'));
  const turn = ann.begin('session/prompt', { sessionId, prompt: text('say my secret; wait') });
  await ann.next(({ params }) => JSON.stringify(params ?? {}).includes('secret'));
  const cwds = [world.folderOf('ann'), world.folderOf('bob')];
  const calls = [
    ...cwds.flatMap((cwd) => ['session/load', 'session/resume', 'session/fork'].map((method) => [method, { sessionId, cwd, mcpServers: [] }] as const)), // prettier-ignore
    ['session/prompt', { sessionId, prompt: text('mine') }],
    ['session/close', { sessionId }],
    ['session/delete', { sessionId }],
    ['session/set_mode', { sessionId, modeId: 'x' }],
  ] as const;
  const answers = await Promise.all(calls.map(([method, params]) => bob.call(method, params)));
  bob.send({ method: 'session/cancel', params: { sessionId } });
  bob.send({ method: '$/cancel_request', params: { requestId: turn } });
  const listed = await bob.call('session/list', {});
  const isOver = ann.got.some(({ id }) => id === turn);
  ann.send({ method: 'session/cancel', params: { sessionId } });
  await ann.answer(turn);
  const after = await ann.prompt(sessionId, 'still here');
  for (const each of [ann, bob]) each.socket.close();
  // Whoever deletes what is not there for them is answered as if it were.
  const deletion = calls.findIndex(([method]) => method === 'session/delete');
  const through = answers.filter(({ error }, at) => error === undefined && at !== deletion);
  return reachedIf(
    through.length > 0 ||
      after.error !== undefined ||
      isOver ||
      bob.said.includes('secret') ||
      JSON.stringify(listed).includes(sessionId),
    `${JSON.stringify(through)} ${isOver} ${bob.said} ${JSON.stringify(listed)}`,
  );
});

attempt('somebody answers the permission that another was asked for', async () => {
  const { client: ann, sessionId } = await world.session(world.ann, world.folderOf('ann'));
  const { client: bob } = await world.session(world.bob, world.folderOf('bob'));
  const turn = ann.begin('session/prompt', { sessionId, prompt: text('permission Go') });
  const { id } = await ann.next(({ method }) => method === 'session/request_permission');
  const ids = [id, String(id), 0, 1, 2, `"${String(id)}"`];
  for (const each of ids)
    bob.send({ id: each, result: { outcome: { outcome: 'selected', optionId: 'reject' } } });
  bob.send({ method: '$/cancel_request', params: { requestId: id } });
  // Behind all that bob has sent.
  await bob.call('session/list', {});
  ann.send({ id, result: { outcome: { outcome: 'selected', optionId: 'allow' } } });
  await ann.answer(turn);
  for (const each of [ann, bob]) each.socket.close();
  return reachedIf(!ann.said.includes('permission: allow'), ann.said);
});

attempt('somebody works in a folder that is not theirs', async () => {
  const mine = world.folderOf('bob');
  const [secret, inner] = [world.folderOf('ann', 'secret'), world.folderOf('bob', 'inner')];
  const outer = world.folderOf('outer');
  const git = (...args: string[]) => execFileSync('git', ['-C', outer, ...args], { stdio: 'ignore' });
  git('init');
  git('-c', 'user.name=t', '-c', 'user.email=t@example.org', 'commit', '--allow-empty', '-m', 'first');
  // A worktree in the folder, whose repository is outside.
  git('worktree', 'add', join(mine, 'linked'));
  symlinkSync(secret, join(mine, 'link'));
  symlinkSync('../../..', join(inner, 'up'));
  const home = world.served.home;
  const linked = ['link', 'link/.', 'inner/up', 'inner/up/work/ann', '../ann', 'linked', '..'];
  const folders = [
    ...linked.map((name) => `${mine}/${name}`),
    secret,
    outer,
    home,
    '/',
    '/etc',
    `${mine}-not`,
  ];
  const bob = await world.connect(world.bob);
  await bob.call('initialize', { protocolVersion: 1 });
  const answers = await Promise.all(folders.map((cwd) => bob.call('session/new', { cwd, mcpServers: [] })));
  const right = await bob.call('session/new', { cwd: inner, mcpServers: [] });
  const further = await bob.call('session/new', { cwd: inner, mcpServers: [], additionalDirectories: [secret] }); // prettier-ignore
  bob.socket.close();
  if (right.error !== undefined) throw new Error('bob cannot work at all');
  const through = [...answers, further].filter(({ error }) => error === undefined);
  return reachedIf(through.length > 0, JSON.stringify(through));
});

attempt('somebody has an agent that is not served, or not for them, or any program', async () => {
  const names = ['flood', '', '--help', '-e', '../mock', 'mock ', 'mock\nflood', 'mock\0', '/bin/sh', '__proto__', 'constructor', '$(id)']; // prettier-ignore
  return await entered(
    names.flatMap((name): [string, Promise<number>][] => {
      const path = `/acp?agent=${encodeURIComponent(name)}`;
      const post = { method: 'POST', headers: { ...world.ann, ...json }, body: initialize };
      return [
        [`socket ${name}`, world.upgrade(world.ann, [], path)],
        [`post ${name}`, asked(path, post)],
      ];
    }),
  );
});

attempt('a frame or a body has two messages, of which one is not looked at', async () => {
  const client = await world.connect(world.ann);
  await client.call('initialize', { protocolVersion: 1 });
  const hidden = '{"jsonrpc":"2.0","id":"hidden","method":"session/list","params":{}}';
  const first = '{"jsonrpc":"2.0","id":"first","method":"session/list","params":{}}';
  const frames = ['\n', '\r', '\r\n', '\u2028', '\0', '\n\n'].map((parted) => first + parted + hidden);
  for (const frame of [...frames, `[${first},${hidden}]`, `\n${hidden.slice(0, -1)}\n`])
    client.socket.send(frame);
  client.socket.send(Buffer.from(hidden), { binary: true });
  const last = await client.call('session/list', {});
  const connection = await world.post(world.ann);
  const post = (body: string) => asked('/acp', { method: 'POST', headers: { ...connection, ...json }, body });
  const statuses = await Promise.all([...frames, `[${first},${hidden}]`].map(post));
  client.socket.close();
  if (last.id === undefined) throw new Error('it was not tried');
  const through = client.got.filter(({ id, result }) => id === 'hidden' && result !== undefined);
  return reachedIf(
    through.length > 0 || statuses.some(isIn),
    `${JSON.stringify(through)} ${statuses.join()}`,
  );
});

attempt('what is too long is kept, or taken for something shorter', async () => {
  const long = 'x'.repeat(5 * 2 ** 20);
  const message = `{"jsonrpc":"2.0","method":"x","params":"${long}"}`;
  const connection = await world.post(world.ann);
  const client = await world.connect(world.ann);
  client.socket.send(message);
  const line = world.raw(`Authorization: Bearer ${bare(world.ann)}\n${message}\n`, world.served.addresses[2]);
  const auth = `Host: ${world.host}\r\nAuthorization: ${world.ann.authorization!}\r\n`;
  const type = `Content-Type: application/json\r\nAcp-Connection-Id: ${connection['acp-connection-id']!}\r\n`;
  const [code, answered, body, header] = await Promise.all([
    client.closed,
    line,
    rawStatus(`POST /acp HTTP/1.1\r\n${auth}${type}Content-Length: ${message.length}\r\n\r\n`),
    rawStatus(`GET /acp HTTP/1.1\r\n${auth}X: ${'x'.repeat(20_000)}\r\n\r\n`),
  ]);
  // Whose socket is reset may not learn why.
  const isRefused =
    [1009, 1006].includes(code) && body === 413 && header === 431 && answered.includes('"error"');
  return reachedIf(!isRefused, `${code} ${body} ${header} ${answered.slice(0, 200)}`);
});

attempt('clients that never finish what they send, or never read, keep others waiting', async () => {
  const { host } = world;
  const begun = [
    'GET /acp HTT',
    `GET /acp HTTP/1.1\r\nHost: ${host}\r\nX-Slow: `,
    `POST /acp HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${world.ann.authorization!}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`,
    `GET /acp HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${world.ann.authorization!}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n`,
    '',
  ];
  const [plain, local] = [
    new URL(world.served.addresses[2]!.replace('tcp:', 'http:')),
    world.served.addresses[3]!,
  ];
  const open = [
    ...Array.from(
      { length: 100 },
      (_, n) => [Number(new URL(world.http).port), begun[n % begun.length]!] as const,
    ),
    ...Array.from({ length: 50 }, () => [Number(plain.port), 'Authorization: Bearer'] as const),
  ].map(([port, bytes]) => {
    const socket = net.connect(port, '127.0.0.1').on('error', () => undefined);
    socket.write(bytes);
    return socket;
  });
  const connection = await world.post(world.ann);
  const unread = Array.from({ length: 20 }, (_, n) => {
    const lines = Object.entries({ ...connection, accept: 'text/event-stream', 'acp-session-id': `s${n}` });
    const socket = net.connect(Number(new URL(world.http).port), '127.0.0.1').pause();
    socket.write(`GET /acp HTTP/1.1\r\nHost: ${host}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`); // prettier-ignore
    return socket;
  });
  try {
    const { client, sessionId } = await world.session(world.bob, world.folderOf('bob'));
    const answer = await client.prompt(sessionId, 'hello');
    client.socket.close();
    const lines = net.connect(local.replace('unix:', ''));
    lines.write(`${initialize}\n`);
    const [said] = (await once(lines, 'data')) as [Buffer];
    lines.destroy();
    return reachedIf(answer.result === undefined || !said.includes('"result"'), JSON.stringify(answer));
  } finally {
    for (const socket of [...open, ...unread]) socket.destroy();
  }
});

attempt(
  'a visitor fills the server’s memory with names of sessions that are not there',
  async () => {
    const connection = await world.post(world.ann);
    const status = () => readFileSync(`/proc/${world.served.process.pid}/status`, 'utf8');
    const mebibytes = () => Number(/VmRSS:\s+(\d+)/.exec(status())![1]) / 1024;
    const name = 'x'.repeat(12_000);
    const get = async (n: number): Promise<number> => {
      const socket = net.connect(Number(new URL(world.http).port), '127.0.0.1');
      const lines = Object.entries({
        ...connection,
        accept: 'text/event-stream',
        'acp-session-id': `${name}${n}`,
      });
      socket.write(`GET /acp HTTP/1.1\r\nHost: ${world.host}\r\n${lines.map(([key, value]) => `${key}: ${value}\r\n`).join('')}\r\n`); // prettier-ignore
      const [said] = (await once(socket, 'data')) as [Buffer];
      socket.destroy();
      return statusOf(said.toString());
    };
    const before = mebibytes();
    let last = 0;
    for (let n = 0; n < 8_000; n += 16) {
      const all = await Promise.all(Array.from({ length: 16 }, (_, at) => get(n + at)));
      last = all.at(-1)!;
    }
    if (last !== 200) throw new Error(`it was not tried: ${last}`);
    return reachedIf(mebibytes() - before > 75, `${before} MiB, then ${mebibytes()}`);
  },
  4 * patienceMs,
);

attempt('a visitor takes all connections, and all processes with them', async () => {
  const own = await DoorWorld.open('[serve]\nconnections = 6\n');
  try {
    const refusals: unknown[] = [];
    for (let n = 0; n < 7; n++) await own.connect(own.ann).catch((reason: unknown) => refusals.push(reason));
    if (!String(refusals).includes('503')) throw new Error(`it was not tried: ${String(refusals)}`);
    const others = [await own.upgrade(own.bob), await own.upgrade(own.owner)];
    return reachedIf(others.join() !== '101,101', others.join());
  } finally {
    await own.served.end();
  }
});

attempt('somebody who may use a part learns of the others from what the server counts', async () => {
  const answer = await world.ask('/metrics', { headers: world.ann });
  const mine = await world.ask('/metrics', { headers: world.owner });
  if (!mine.text.includes('cai_serve_')) throw new Error('nothing is counted');
  return reachedIf(answer.text.includes('cai_serve_'), answer.text);
});

attempt('a file of tokens that others can read or have made lets them in', async () => {
  const own = await DoorWorld.open();
  const file = join(own.served.home, '.local/state/containai/serve/token');
  const forged = `cai_${'A'.repeat(43)}`;
  const come = (token: string) =>
    own.ask('/acp', { headers: { authorization: `Bearer ${token}` } }).then(({ status }) => status);
  try {
    const right = bare(own.owner);
    if (!isIn(await come(right))) throw new Error('the owner cannot come in');
    chmodSync(file, 0o644);
    const readable = await come(right);
    renameSync(file, `${file}.old`);
    writeFileSync(`${file}.forged`, `${forged}\n`, { mode: 0o600 });
    symlinkSync(`${file}.forged`, file);
    const linked = await come(forged);
    const ann = await come(bare(own.ann));
    return reachedIf([readable, linked, ann].some(isIn), [readable, linked, ann].join());
  } finally {
    await own.served.end();
  }
});

attempt('a socket where others can come in, or that another server has, is taken for ours', async () => {
  const folder = join(world.served.home, 'shared');
  mkdirSync(folder, { mode: 0o777 });
  chmodSync(folder, 0o777);
  const taken = join(world.served.home, 'run/other.sock');
  const other = net.createServer((socket) => socket.destroy()).listen(taken);
  await once(other, 'listening');
  const starts = [join(folder, 's.sock'), taken].map(async (path) => {
    try {
      await (await Served.start({ listen: [`unix:${path}`] })).end();
      return `${path} was served`;
    } catch (reason) {
      const isRefused = /can be entered by others|another cai serve listens/.test(String(reason));
      return reachedIf(!isRefused, `${path}: ${String(reason)}`);
    }
  });
  const reached = (await Promise.all(starts)).find((each) => each !== undefined);
  other.close();
  return reached;
});

attempt(
  'an agent in a container reaches the server, its socket or its tokens',
  async () => {
    const place = await new Place().opened();
    const { port } = new URL(world.http);
    const socket = world.served.addresses[3]!.replace('unix:', '');
    const state = join(world.served.home, '.local/state/containai/serve');
    const cookie = `-H 'Cookie: cai=x' -H 'Origin: ${world.http}'`;
    const curl = 'curl -sS --max-time 5';
    const names = ['127.0.0.1', 'localhost', 'cai.localhost', 'host.docker.internal', 'host.containers.internal', '$(ip route 2>/dev/null | sed -n "s/default via \\([0-9.]*\\).*/\\1/p")', '172.17.0.1']; // prettier-ignore
    const script = [
      ...names.flatMap((name) => [
        `${curl} --noproxy '*' "http://${name}:${port}/healthz"`,
        `${curl} ${cookie} "http://${name}:${port}/healthz"`,
      ]),
      `${curl} --unix-socket ${socket} http://localhost/healthz`,
      `cat ${state}/token ${state}/tokens.json`,
      `find / -xdev \\( -name '*.sock' -path '*containai*' -o -name tokens.json -path '*serve*' \\) 2>/dev/null`,
      'env',
      'echo tried',
    ].join('; ');
    const { stdout } = await place.run(['sh', '-c', script]);
    const told = stdout.toString();
    if (!told.includes('tried')) throw new Error(`it was not tried: ${told}`);
    // From here it answers.
    if ((await world.ask('/healthz')).text !== 'ok\n') throw new Error('the server is gone');
    return reachedIf(/^ok$|cai_[\w-]{43}|\.sock|tokens\.json/m.test(told), told);
  },
  buildTimeoutMs,
);

attempt('an agent has the client of another called for files, or a terminal', async () => {
  const { client: ann, sessionId } = await world.session(world.ann, world.folderOf('ann'));
  const { client: bob } = await world.session(world.bob, world.folderOf('bob'));
  await ann.prompt(sessionId, 'read /etc/passwd; say done');
  if (!ann.said.includes('done')) throw new Error('it was not tried');
  for (const each of [ann, bob]) each.socket.close();
  const calls = [...ann.got, ...bob.got].filter(({ method }) => /^(fs|terminal)\//.test(method ?? ''));
  return reachedIf(calls.length > 0 || ann.said.includes('root:'), JSON.stringify(calls) + ann.said);
});

attempt('a message of the agent ends its event early, and begins one of its own', async () => {
  const connection = await world.post(world.ann);
  const post = (id: number, method: string, params: object, more: Headers = {}) =>
    world.ask('/acp', { method: 'POST', headers: { ...connection, ...json, ...more }, body: JSON.stringify({ jsonrpc: '2.0', id, method, params }) }); // prettier-ignore
  const lines = (session: Headers = {}) =>
    Object.entries({ ...connection, ...session, accept: 'text/event-stream' })
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('');
  const listen = (session: Headers = {}) => {
    const socket = net.connect(Number(new URL(world.http).port), '127.0.0.1');
    socket.write(`GET /acp HTTP/1.1\r\nHost: ${world.host}\r\n${lines(session)}\r\n`);
    let said = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (said += chunk));
    return { socket, until: async (what: RegExp): Promise<string> => {
      while (!what.test(said)) await once(socket, 'data');
      return said;
    } }; // prettier-ignore
  };
  const all = listen();
  await post(2, 'session/new', { cwd: world.folderOf('ann'), mcpServers: [] });
  const sessionId = /"sessionId":"([^"]+)"/.exec(await all.until(/"sessionId"/))![1]!;
  const header = { 'acp-session-id': sessionId };
  const own = listen(header);
  const evil = 'a\r\n\r\ndata: {"evil":1}\n\nid: 99\n\u2028b';
  await post(3, 'session/prompt', { sessionId, prompt: text(`${evil}; say done`) }, header);
  const said = await own.until(/stopReason/);
  for (const { socket } of [all, own]) socket.destroy();
  if (!said.includes('evil')) throw new Error('it was not tried');
  return reachedIf(/^(?:data: \{"evil"|id: 99)/m.test(said), said);
});
