/** `cai connect` and `cai serve` over plain lines: `tcp://` and `tls://`. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { certificate } from '../../support/certificate';
import type { Json } from '../../support/inbox';
import { Served } from '../../support/served';
import { Editor } from './editor';

const { certFile, keyFile } = certificate('localhost');
const quiet = { CAI_LOG_LEVEL: 'silent' };
let server: Served;
let editor: Editor;

beforeAll(async () => {
  const listen = ['tcp://127.0.0.1:0', 'tls://127.0.0.1:0'];
  const config = `[serve]\ntls_cert = "${certFile}"\ntls_key = "${keyFile}"\n`;
  server = await Served.start({ listen, config });
});
afterAll(() => server.end());
afterEach(async () => {
  editor.process.kill('SIGKILL');
  await editor.ended();
});

/** A turn of a new session, which ends the connection afterwards; its updates. */
async function turn(): Promise<readonly Json[]> {
  await editor.request('initialize', { protocolVersion: 1 });
  const { result } = await editor.request('session/new', { cwd: server.workspace('a'), mcpServers: [] });
  const { sessionId } = result as Json;
  const prompt = [{ type: 'text', text: 'hello' }];
  const answer = await editor.request('session/prompt', { sessionId, prompt });
  expect(answer).toHaveProperty('result.stopReason', 'end_turn');
  expect(await editor.leave()).toBe(0);
  return editor.inbox.takeAll();
}

test('a turn over tcp://, with the token of the user’s own server', async () => {
  editor = new Editor([server.addresses[0]!], { ...quiet, XDG_STATE_HOME: server.stateFolder });

  expect(await turn()).toMatchObject([{ params: { update: { content: { text: 'echo: hello' } } } }]);
});

test('a turn over tls://, with an authority of the configuration', async () => {
  const token = server.owner.authorization.replace('Bearer ', '');
  const config = `[network]\nca_file = "${certFile}"\n`;
  editor = new Editor([server.addresses[1]!], { ...quiet, CAI_CONNECT_TOKEN: token }, config);

  expect(await turn()).toHaveLength(1);
});

test.each([
  [
    'a wrong token',
    { CAI_CONNECT_TOKEN: 'wrong' },
    /: it answers 401: .*token.* Give a token with --token-file/,
  ],
  ['no token', {}, /: it answers 401: the first line is "Authorization: Bearer TOKEN"\. Give a token/],
])('%s is refused with why', async (_what, env, why) => {
  editor = new Editor([server.addresses[0]!], { ...quiet, ...env });

  const { error } = await editor.request('initialize', { protocolVersion: 1 });
  expect((error as Json).message).toMatch(why);
  expect(await editor.ended()).toBe(11);
});

test('a server with a certificate that nobody vouches for gets no token', async () => {
  editor = new Editor([server.addresses[1]!], { ...quiet, CAI_CONNECT_TOKEN: 'x' });

  const { error } = await editor.request('initialize', { protocolVersion: 1 });
  expect((error as Json).message).toContain('name its authority as "network.ca_file"');
});

describe('with a server of others', () => {
  const sockets: Socket[] = [];
  const other = createServer((socket) => void sockets.push(socket.on('error', () => undefined)));
  let address: string;
  beforeAll(async () => {
    await once(other.listen(0, '127.0.0.1'), 'listening');
    address = `tcp://127.0.0.1:${(other.address() as AddressInfo).port}`;
  });
  afterAll(() => other.close());

  /** The next line that the server is sent, and what it answers to. */
  async function asked(): Promise<Socket> {
    if (sockets.length === 0) await once(other, 'connection');
    const socket = sockets.pop()!;
    await once(socket, 'data');
    return socket;
  }

  test('that sends no ACP is given up, with its words', async () => {
    editor = new Editor([address], quiet);
    const answer = editor.request('initialize', { protocolVersion: 1 });
    (await asked()).write('220 mail.example ESMTP\n');

    expect(((await answer).error as Json).message).toMatch(
      /cannot be used: it answers 220: mail\.example ESMTP$/,
    );
  });

  test('another connection begins where one has broken', async () => {
    editor = new Editor([address], quiet);
    const greeting = editor.request('initialize', { protocolVersion: 1 });
    let socket = await asked();
    socket.write('{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}\n');
    await greeting;
    const lost = editor.request('_one');
    await once(socket, 'data');
    socket.destroy();
    expect((await lost).error).toMatchObject({ code: -32603 });

    socket = await asked();
    socket.write('{"jsonrpc":"2.0","id":"none","result":1}\n');
    expect(await editor.leave()).toBe(0);
    socket.destroy();
  });
});
