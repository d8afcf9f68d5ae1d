import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { authorityOf, identityFor } from '../../../src/network/keys/authority';
import { hastened } from '../../support/hastened';
import type { Json } from '../../support/inbox';
import { untilIdle } from '../../support/processes';
import { newFolder } from '../../support/temp-folder';
import { CuttingProxy } from './cutting-proxy';
import { Editor, EditorHere } from './editor';
import { ScriptedServer, type ServedConnection } from './scripted-server';

const quiet = { CAI_LOG_LEVEL: 'silent' };
let server: ScriptedServer;
let editor: Editor;
/** In the place of `editor`, where a test needs no program. */
let here: EditorHere | undefined;
let proxy: CuttingProxy | undefined;

afterEach(async () => {
  if (here === undefined) {
    editor.process.kill('SIGKILL');
    await editor.ended();
  }
  await here?.end();
  here = undefined;
  proxy?.close();
  proxy = undefined;
  await server.close();
});

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

async function start(env: NodeJS.ProcessEnv = quiet): Promise<ServedConnection> {
  server = new ScriptedServer();
  editor = new Editor([`ws://127.0.0.1:${await server.listen()}`], env);
  return await server.connection();
}

/** As `start`, without a program. */
async function startHere() {
  server = new ScriptedServer();
  here = new EditorHere(`ws://127.0.0.1:${await server.listen()}`);
  return { editor: here, connection: await server.connection() };
}

/** As `start`; the server has then closed the socket because nothing passed, and the editor has noticed. */
async function idle(env?: NodeJS.ProcessEnv): Promise<ServedConnection> {
  const connection = await start(env);
  connection.send({ method: '_one' });
  await editor.inbox.next('_one');
  connection.cut(4003);
  await connection.detached();
  await untilIdle(editor.process.pid!);
  return connection;
}

describe('a connection', () => {
  test.each([1011, undefined])('goes on after the end of a socket with %s', async (code) => {
    const { editor, connection } = await startHere();
    connection.send({ method: '_one' });
    await editor.inbox.next('_one');
    editor.ask('_ask');
    await connection.inbox.next('_ask');
    connection.cut(code);
    connection.send({ method: '_two' });

    await editor.inbox.next('_two');
    expect(server.begun).toEqual([connection]);
    const { headers } = connection.requests[1]!;
    expect(headers).toMatchObject({
      'acp-connection-id': connection.id,
      'cai-received': '1',
      // For a balancer.
      cookie: `lane=${connection.id}`,
    });
    expect(editor.inbox.takeAll()).toEqual([]);
  });

  test('that breaks and goes on is told of both times', async () => {
    server = new ScriptedServer();
    editor = new Editor([`ws://127.0.0.1:${await server.listen()}`]);
    const connection = await server.connection();
    connection.send({ method: '_one' });
    await editor.inbox.next('_one');
    connection.cut();
    connection.send({ method: '_two' });
    await editor.inbox.next('_two');
    await editor.leave();

    expect(editor.stderr.match(/"level":40.*"msg":"[^"]*/g)).toEqual([
      expect.stringMatching(/"the connection to the server is interrupted$/),
      expect.stringMatching(/"the connection goes on$/),
    ]);
  });

  test('is over after the end of a socket with 1009', async () => {
    const { editor, connection } = await startHere();
    const id = editor.ask('_ask');
    await connection.inbox.next('_ask');
    connection.cut(1009);

    expect(await editor.inbox.response(id)).toMatchObject({ error: { code: -32603 } });
    expect((await server.connection(2)).requests[0]!.headers).not.toHaveProperty('acp-connection-id');
  });

  test('is over if the server sends more than is taken, which is told with the limit', async () => {
    server = new ScriptedServer();
    const config = '[acp]\nmax_line_to_editor = "1MiB"';
    editor = new Editor([`ws://127.0.0.1:${await server.listen()}`], {}, config);
    const connection = await server.connection();
    const id = editor.ask('_ask');
    await connection.inbox.next('_ask');
    connection.send({ method: '_long', params: { pad: 'x'.repeat(2 * 2 ** 20) } });

    expect(await editor.inbox.response(id)).toMatchObject({ error: { code: -32603 } });
    await server.connection(2);
    expect(editor.stderr).toContain('more than the 1 MiB of acp.max_line_to_editor');
  });

  test('is over if the server has more messages than were sent', async () => {
    const { editor, connection } = await startHere();
    const id = editor.ask('_ask');
    await connection.inbox.next('_ask');
    connection.received = 9;
    connection.cut();

    expect(await editor.inbox.response(id)).toMatchObject({ error: { code: -32603 } });
    await server.connection(2);
  });

  test('that was idle for too long stays closed when the editor leaves, at once', async () => {
    const connection = await idle({ ...quiet, ...hastened, CAI_HASTEN_UP_TO: '500' });

    expect(await editor.leave()).toBe(0);
    expect(connection.requests).toHaveLength(1);
  });

  test('that was idle while something was on its way is made again at once', async () => {
    const connection = await start();
    const id = editor.ask('_ask');
    const asked = await connection.inbox.next('_ask');

    connection.cut(4003);
    await connection.detached();
    connection.answer(asked, {});

    expect(await editor.inbox.response(id)).toMatchObject({ result: {} });
  });

  test('that was idle for too long goes on when there is something to say', async () => {
    const connection = await idle();
    expect(connection.requests).toHaveLength(1);

    editor.ask('_ask');
    await connection.inbox.next('_ask');
    expect(connection.requests).toHaveLength(2);
  });

  test('goes on when the server falls silent, which pings tell', async () => {
    // The first way takes all, and brings nothing behind what opens it.
    let ways = 0;
    const nextCut = () => (++ways === 1 ? { to: Infinity, from: Infinity, silentFrom: 1 } : undefined);
    server = new ScriptedServer({ onMessage: (to, message) => to.answer(message, {}) });
    proxy = new CuttingProxy(await server.listen(), nextCut);
    editor = new Editor([`ws://127.0.0.1:${await proxy.listen()}`], { ...quiet, ...hastened });

    await editor.request('_ask');

    expect(ways).toBe(2);
    expect(server.begun).toHaveLength(1);
  });

  test('asks after every 256 messages what has come', async () => {
    const { editor, connection } = await startHere();
    for (let number = 1; number <= 600; number++) editor.ask('_ask');
    await connection.pinged(2);

    expect(connection.pings).toEqual([256, 512]);
  });
});

describe('who is slow', () => {
  test('the server: the editor has to wait, and nothing is lost', async () => {
    server = new ScriptedServer();
    const config = '[acp]\nqueue_to_agent = "1MiB"';
    editor = new Editor([`ws://127.0.0.1:${await server.listen()}`], quiet, config);
    const connection = await server.connection();
    connection.setPaused(true);

    const count = 1_000;
    for (let number = 1; number <= count; number++) editor.ask('_ask', { pad: 'x'.repeat(20_000) });
    await untilIdle(editor.process.pid!);
    // What waits here is not in its memory.
    expect(editor.process.stdin.writableLength).toBeGreaterThan(4 * 2 ** 20);
    connection.setPaused(false);

    await connection.inbox.next(({ id }) => id === count);
    expect(connection.inbox.takeAll().map(({ id }) => id)).toEqual(upTo(count - 1));
  });

  test('nobody: where little may wait, the server is asked at once what has arrived', async () => {
    server = new ScriptedServer();
    const config = '[acp]\nqueue_to_agent = "64KiB"';
    editor = new Editor([`ws://127.0.0.1:${await server.listen()}`], quiet, config);
    const connection = await server.connection();

    const count = 200;
    for (let number = 1; number <= count; number++) editor.ask('_ask', { pad: 'x'.repeat(20_000) });
    await connection.inbox.next(({ id }) => id === count);
  });

  test('the editor: the server has to wait, and nothing is lost', async () => {
    const connection = await start();
    editor.ask('_ask');
    await connection.inbox.next('_ask');
    editor.process.stdout.pause();

    const count = 1_000;
    for (let number = 1; number <= count; number++)
      connection.send({ method: '_say', params: { number, pad: 'x'.repeat(20_000) } });
    await untilIdle(editor.process.pid!);
    expect(connection.waitingBytes).toBeGreaterThan(4 * 2 ** 20);
    editor.process.stdout.resume();

    await editor.inbox.next(({ params }) => (params as Json).number === count);
    expect(editor.inbox.takeAll().map(({ params }) => (params as Json).number)).toEqual(upTo(count - 1));
  });
});

describe('a server', () => {
  test('that is not there yet is waited for', async () => {
    const path = join(newFolder(), 'serve.sock');
    server = new ScriptedServer();
    editor = new Editor([`unix:${path}`], hastened);
    const answer = editor.request('initialize', { protocolVersion: 1 });
    while (!editor.stderr.includes('could not be connected to; trying for 30 s')) await editor.said();
    await server.listen(path);
    const connection = await server.connection();
    connection.answer(await connection.inbox.next('initialize'), { protocolVersion: 1 });

    expect(await answer).toMatchObject({ result: { protocolVersion: 1 } });
    // Each once: the first failure, and the end of it.
    expect(editor.stderr.match(/"msg":"[^"]*/g)).toEqual([
      '"msg":"the server could not be connected to; trying for 30 s',
      '"msg":"a connection has begun',
    ]);
  });

  test('of this user that does not run is not waited for', async () => {
    server = new ScriptedServer();
    editor = new Editor([], { XDG_RUNTIME_DIR: newFolder() });

    const { error } = await editor.request('initialize', { protocolVersion: 1 });
    expect((error as Json).message).toMatch(
      /^the server at unix:\/.*serve\.sock cannot be used: .* Run "cai serve"/,
    );
    expect(await editor.ended()).toBe(11);
    expect(editor.stderr).toMatch(/^cai: the server at unix:\/[^\n]*\n$/);
  });

  test('of this user that goes is waited for', async () => {
    const runtime = newFolder();
    mkdirSync(join(runtime, 'containai'));
    const path = join(runtime, 'containai/serve.sock');
    server = new ScriptedServer();
    await server.listen(path);
    editor = new Editor([], { ...hastened, XDG_RUNTIME_DIR: runtime, CAI_LOG_LEVEL: 'info' });
    const connection = await server.connection();
    connection.send({ method: '_one' });
    await editor.inbox.next('_one');
    server.forget(connection);
    await server.close();
    while (!editor.stderr.includes('could not be connected to')) await editor.said();
    await server.listen(path);

    await server.connection(2);
  });

  test('whose connections all end at once is given up, and initialize is answered with why', async () => {
    server = new ScriptedServer({ onMessage: (connection) => connection.cut(4001, 'config.toml is wrong') });
    editor = new Editor([`ws://127.0.0.1:${await server.listen()}`], { ...quiet, ...hastened });

    const { error } = await editor.request('initialize', { protocolVersion: 1 });
    expect((error as Json).message).toMatch(/ has ended: config\.toml is wrong$/);
    expect(await editor.ended()).toBe(11);
    expect(server.begun.length).toBeGreaterThan(3);
  });

  test('that takes long to answer is waited for', async () => {
    server = new ScriptedServer();
    editor = new Editor([`ws://127.0.0.1:${await server.listen()}`], { ...quiet, ...hastened });
    const answer = editor.request('initialize', { protocolVersion: 1 });
    const connection = await server.connection();
    // A ping is sent every 15 s, ten times as fast here.
    await connection.pinged(3);
    connection.answer(await connection.inbox.next('initialize'), { protocolVersion: 1 });

    expect(await answer).toHaveProperty('result');
  });

  test('that speaks something else is named when the editor leaves', async () => {
    server = new ScriptedServer({ tls: await identityFor('localhost', await authorityOf(newFolder())) });
    editor = new Editor([`http://127.0.0.1:${await server.listen()}`], { ...quiet, ...hastened });
    const id = editor.ask('initialize', { protocolVersion: 1 });

    expect(await editor.leave()).toBe(0);
    const { error } = await editor.inbox.response(id);
    expect((error as Json).message).toMatch(/^the server at ws:\/\/127\.0\.0\.1:\d+\/acp cannot be used: /);
  });

  test('that never comes is given up, and initialize is answered with why', async () => {
    const path = join(newFolder(), 'serve.sock');
    server = new ScriptedServer();
    editor = new Editor([`unix:${path}`], { ...quiet, ...hastened, CAI_HASTEN_BY: '25' });

    const { error } = await editor.request('initialize', { protocolVersion: 1 });
    expect(error).toMatchObject({ code: -32603 });
    expect((error as Json).message).toContain(`unix:${path}`);
    expect((error as Json).message).toMatch(/ENOENT.*Check the address, and that "cai serve" runs there/);
    expect(await editor.ended()).toBe(11);
  });

  test('that refuses for a moment is asked again', async () => {
    server = new ScriptedServer({ status: 503 });
    editor = new Editor([`ws://127.0.0.1:${await server.listen()}`], { CAI_LOG_LEVEL: 'info', ...hastened });
    while (!editor.stderr.includes('it answers 503: not now')) await editor.said();
    server.options.status = 101;

    await server.connection();
  });

  test('that refuses with 403 is not asked again', async () => {
    const status = 403;
    server = new ScriptedServer({ status });
    editor = new Editor([`ws://127.0.0.1:${await server.listen()}`], quiet);

    const { error } = await editor.request('initialize', { protocolVersion: 1 });
    expect((error as Json).message).toContain(`it answers ${status}: not now`);
    // It does run there.
    expect((error as Json).message).not.toContain('Check the address');
    expect(await editor.ended()).toBe(11);
    expect(server.refused).toBe(1);
  });

  test('that refuses, and never comes to the end of why, has refused', async () => {
    const endless = createServer((_request, response) => {
      response.writeHead(403);
      const word = setInterval(() => response.write('x'), 100);
      response.on('close', () => clearInterval(word));
    });
    await once(endless.listen(0, '127.0.0.1'), 'listening');
    const { port } = endless.address() as AddressInfo;
    editor = new Editor([`ws://127.0.0.1:${port}`], { ...quiet, ...hastened });

    const { error } = await editor.request('initialize', { protocolVersion: 1 });
    endless.close();

    expect((error as Json).message).toContain('it answers 403: x');
    expect(await editor.ended()).toBe(11);
  });

  test('that takes the right back ends everything', async () => {
    const connection = await start();
    const open = editor.ask('_ask');
    await connection.inbox.next('_ask');
    connection.cut(1008, 'the token was revoked');

    expect(await editor.inbox.response(open)).toMatchObject({
      error: { code: -32603, message: expect.stringContaining('the token was revoked') as string },
    });
    expect(await editor.ended()).toBe(11);
  });
});
