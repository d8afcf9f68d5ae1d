import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { authorityOf, identityFor, type Identity } from '../../../src/network/keys/authority';
import { Editor } from '../../served/client/editor';
import { ScriptedServer } from '../../served/client/scripted-server';
import { certificate } from '../../support/certificate';
import { cai, runInTerminal, userWith } from '../../support/cli';
import { runHere } from '../../support/cli-here';
import type { Json } from '../../support/inbox';
import { newFolder } from '../../support/temp-folder';

const token = 'tok-en.123';
const quiet = { CAI_LOG_LEVEL: 'silent' };

/** A file of its own that holds `text`. */
function fileWith(text: string): string {
  const file = join(newFolder(), 'file');
  writeFileSync(file, text);
  return file;
}

describe('cai connect', () => {
  test.each([
    [['ftp://host'], /^cai: the address of a server begins with wss:\/\/, https:\/\//],
    [['host:8722'], /^cai: the address of a server begins with .* "host:8722" does not: did you mean https:/],
    [['unix:'], /^cai: unix: needs the path of a socket/],
    [['wss://me:pass@host'], /^cai: the address holds a user or password: use --token-file instead\n$/],
    [
      ['wss://host/acp?agent=codex', '--agent', 'gemini'],
      /^cai: the address names the agent "codex", and --agent/,
    ],
    [
      ['ws://192.0.2.1', '--token-file', fileWith(token)],
      /^cai: the token would be sent unencrypted to ws:\/\/192\.0\.2\.1\/acp: use wss/,
    ],
    [
      ['tcp://192.0.2.1:8722', '--token-file', fileWith(token)],
      /^cai: the token would be sent unencrypted to tcp:\/\/192\.0\.2\.1:8722: use tls:/,
    ],
    [['tcp://127.0.0.1:8722', '--agent', 'codex'], /^cai: --agent means nothing to tcp:/],
    [['wss://host', '--client-cert', '/a'], /^cai: --client-cert and --client-key need each other\n$/],
    [
      ['wss://host', '--token-file', '/no/such'],
      /^cai: --token-file: \/no\/such cannot be read: no such file/,
    ],
    [['wss://host', '--token-file', fileWith('two words')], /^cai: --token-file does not hold a token/],
  ])('says what is wrong with the command line: %j', async (args, message) => {
    const { status, stdout, stderr } = await runHere(['connect', ...args], userWith(''));

    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/pass@|tok-en|two words/);
  });

  test('is not for a terminal', async () => {
    const { status, stdout } = await runInTerminal(['connect', 'ws://127.0.0.1:1'], userWith(''));

    expect(status).toBe(2);
    expect(stdout).toContain('put it into the settings of your editor');
  });

  test('runs a whole turn between an editor and a server that are made with the SDK', async () => {
    const server = spawn(process.execPath, [resolve('fixtures/agents/serves-websocket.mjs')]);
    const [port] = (await once(server.stdout, 'data')) as [Buffer];
    const client = resolve('fixtures/clients/one-turn.mjs');
    const { env, cwd } = userWith('');
    const url = `ws://127.0.0.1:${port.toString().trim()}`;
    const args = [client, cwd!, 'go on', process.execPath, cai, 'connect', url];
    const editor = spawn(process.execPath, args, { cwd, env: { PATH: process.env.PATH, ...env } });
    let stderr = '';
    editor.stderr.on('data', (text: Buffer) => (stderr += text.toString()));

    const [status] = (await once(editor, 'close')) as [number];
    server.kill();
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });
});

describe('with TLS', () => {
  let server: ScriptedServer | undefined;
  let editor: Editor;
  let authority: Identity;
  let host: Identity;

  beforeAll(async () => {
    authority = await authorityOf(newFolder());
    host = await identityFor('localhost', authority);
  });
  afterEach(async () => {
    editor.process.kill('SIGKILL');
    await editor.ended();
    await server?.close();
  });

  test('the authority may be that of the configuration, and the client may show a certificate', async () => {
    const own = certificate();
    server = new ScriptedServer({ tls: { ...host, ca: own.cert, requestCert: true } });
    const args = ['--client-cert', own.certFile, '--client-key', own.keyFile];
    const config = `[network]\nca_file = "${fileWith(authority.cert)}"`;
    const env = { ...quiet, CAI_CONNECT_TOKEN: token };
    editor = new Editor([`https://localhost:${await server.listen()}`, ...args], env, config);

    const { headers, socket } = (await server.connection()).requests[0]!;
    expect(headers.authorization).toBe(`Bearer ${token}`);
    expect(socket).toHaveProperty('authorized', true);
  });

  test('a server that nobody vouches for is refused at once', async () => {
    server = new ScriptedServer({ tls: { ...host } });
    editor = new Editor([`wss://localhost:${await server.listen()}`], quiet);

    const { error } = await editor.request('initialize', { protocolVersion: 1 });
    expect((error as Json).message).toContain('"network.ca_file"');
    expect(await editor.ended()).toBe(11);
    expect(server.begun).toEqual([]);
  });
});

describe('with a server', () => {
  let server: ScriptedServer;
  let editor: Editor | undefined;

  beforeEach(() => (server = new ScriptedServer({ token })));
  afterEach(async () => {
    editor?.process.kill('SIGKILL');
    await editor?.ended();
    await server.close();
  });

  test.each<[string, () => { args?: string[]; env?: NodeJS.ProcessEnv }]>([
    ['a file', () => ({ args: ['--token-file', fileWith(`${token}\n`)] })],
    ['the environment', () => ({ env: { CAI_CONNECT_TOKEN: token } })],
    [
      'the state folder, on this machine',
      () => {
        const state = newFolder();
        mkdirSync(join(state, 'containai/serve'), { recursive: true });
        writeFileSync(join(state, 'containai/serve/token'), token);
        return { env: { XDG_STATE_HOME: state } };
      },
    ],
  ])('the token comes from %s', async (_what, given) => {
    const { args = [], env = {} } = given();
    const port = await server.listen();
    editor = new Editor([`http://127.0.0.1:${port}`, '--agent', 'codex', ...args], { ...quiet, ...env });

    const { headers, url } = (await server.connection()).requests[0]!;
    expect(headers.authorization).toBe(`Bearer ${token}`);
    expect(url).toBe('/acp?agent=codex');
  });

  test('a wrong token is told to the editor and to the user, and by nobody repeated', async () => {
    const wrong = 'wrong-token';
    editor = new Editor([`ws://127.0.0.1:${await server.listen()}/other`], {
      CAI_CONNECT_TOKEN: wrong,
      CAI_LOG_LEVEL: 'debug',
    });

    const { error } = await editor.request('initialize', { protocolVersion: 1 });
    expect(error).toMatchObject({ code: -32603 });
    expect((error as Json).message).toMatch(
      /^the server at ws:\/\/127.0.0.1:\d+\/other cannot be used: it answers 401: no such token\. Give a token/,
    );
    expect(await editor.ended()).toBe(11);
    expect(editor.stderr).toContain('cai: the server at');
    expect(editor.stderr).not.toContain(wrong);
    expect(server.refused).toBe(1);
  });

  test('an editor that leaves has sent all that it has written, and gets what is still answered', async () => {
    server = new ScriptedServer({
      onMessage: (connection, message) => {
        if (message.id === 500) connection.answer(message, 'last');
      },
    });
    editor = new Editor([`ws://127.0.0.1:${await server.listen()}`], quiet);
    for (let number = 1; number <= 500; number++) editor.ask('_ask', { pad: 'x'.repeat(2_000) });

    expect(await editor.leave()).toBe(0);
    const { inbox } = await server.connection();
    expect(inbox.lines).toHaveLength(500);
    await expect(inbox.next('_none')).rejects.toThrow('closed with 1000');
    // All others are answered as well.
    const answers = editor.inbox.takeAll();
    expect(answers).toHaveLength(500);
    expect(answers.find(({ id }) => id === 500)).toHaveProperty('result', 'last');
    expect(answers.filter(({ error }) => (error as Json | undefined)?.code === -32603)).toHaveLength(499);
  });

  test.each(['SIGTERM', 'SIGHUP'] as const)('%s ends it, and the connection', async (signal) => {
    server = new ScriptedServer();
    editor = new Editor([`ws://127.0.0.1:${await server.listen()}`], quiet);
    const open = editor.ask('_ask');
    const { inbox } = await server.connection();
    await inbox.next('_ask');
    editor.process.kill(signal);

    expect(await editor.ended()).toBe(0);
    expect(await editor.inbox.response(open)).toHaveProperty('error');
    await expect(inbox.next('_none')).rejects.toThrow('closed with 1000');
  });

  test('an editor that does not read any more ends it, too', async () => {
    server = new ScriptedServer();
    editor = new Editor([`ws://127.0.0.1:${await server.listen()}`], quiet);
    const connection = await server.connection();
    editor.process.stdout.destroy();
    connection.send({ method: '_one' });

    expect(await editor.ended()).toBe(0);
    await expect(connection.inbox.next('_none')).rejects.toThrow('closed with 1000');
  });

  test('no message is logged', async () => {
    server = new ScriptedServer();
    editor = new Editor([`ws://127.0.0.1:${await server.listen()}`], {
      CAI_LOG_LEVEL: 'debug',
      CAI_CONNECT_TOKEN: token,
    });
    const connection = await server.connection();
    editor.ask('_ask', { secret: 'from-editor' });
    connection.answer(await connection.inbox.next('_ask'), {});
    connection.send({ method: '_say', params: { secret: 'from-server' } });
    connection.send('no JSON: from-server');
    connection.cut();
    connection.send({ method: '_last' });
    await editor.inbox.next('_last');
    await editor.leave();

    expect(editor.stderr).toContain('the connection goes on');
    expect(editor.stderr).not.toMatch(/from-editor|from-server|tok-en/);
  });
});
