import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import { Inbox, type Json } from '../../support/inbox';
import { failure } from '../../support/messages';
import { Served } from '../../support/served';

let server: Served;
beforeAll(async () => {
  server = await Served.start({
    config:
      '[acp]\nmax_line_from_editor = "1MiB"\n[serve]\norigins = ["https://ui.example"]\nkeep_messages = 3\nstall = "1s"',
  });
});
afterAll(() => server.end());

/** A WebSocket and what came by it. */
class Client {
  readonly inbox = new Inbox('client');
  /** The headers of the 101. */
  headers: IncomingMessage['headers'] = {};
  /** The code and reason with which the server has closed. */
  readonly closed: Promise<[number, string]>;

  constructor(readonly socket: WebSocket) {
    socket.on('upgrade', ({ headers }) => (this.headers = headers));
    socket.on('message', (data: Buffer) => this.inbox.push(Buffer.from(`${data.toString()}\n`)));
    socket.on('error', () => undefined);
    this.closed = new Promise((resolve) =>
      socket.on('close', (code, reason) => {
        this.inbox.end(`closed with ${code}`);
        resolve([code, reason.toString()]);
      }),
    );
  }

  send(message: Json): void {
    this.socket.send(JSON.stringify({ jsonrpc: '2.0', ...message }));
  }

  async request(id: number, method: string, params: Json = {}): Promise<Json> {
    this.send({ id, method, params });
    return await this.inbox.response(id);
  }

  /** Opens a session of the agent. */
  async open(): Promise<string> {
    await this.request(1, 'initialize', { protocolVersion: 1 });
    const { result } = await this.request(2, 'session/new', { cwd: server.workspace('a'), mcpServers: [] });
    return (result as { sessionId: string }).sessionId;
  }
}

function open(headers: Record<string, string> = {}, agent = 'mock'): WebSocket {
  const url = `${server.url.replace('http', 'ws')}/acp?agent=${agent}`;
  return new WebSocket(url, { headers: { ...server.owner, ...headers } });
}

/** Connects; with the id of a connection and how many messages were received, comes back to it. */
async function connect(id?: string, received = 0, agent?: string): Promise<Client> {
  const back = id === undefined ? {} : { 'acp-connection-id': id, 'cai-received': String(received) };
  const client = new Client(open(back, agent));
  await once(client.socket, 'open');
  return client;
}

/** The status with which coming back is refused. */
async function refusal(headers: Record<string, string>): Promise<number | undefined> {
  const socket = open(headers).on('error', () => undefined);
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
  return response.statusCode;
}

const idOf = (client: Client): string => client.headers['acp-connection-id'] as string;

test('names its connection, and that nothing has come', async () => {
  const client = await connect();

  expect(client.headers).toMatchObject({
    'acp-connection-id': expect.stringMatching(/^[\da-f-]{36}$/) as string,
    'cai-received': '0',
  });
  client.socket.close();
  expect(await client.closed).toEqual([1005, '']);
});

test('ignores binary frames', async () => {
  const client = await connect();
  client.socket.send(Buffer.from('{"jsonrpc":"2.0","id":9,"method":"_x"}'), { binary: true });
  await client.request(1, 'initialize', { protocolVersion: 1 });

  expect(client.inbox.takeAll()).toEqual([]);
  client.socket.close();
});

test('takes a message with line ends between its tokens', async () => {
  const client = await connect();
  client.socket.send('{"jsonrpc":"2.0",\r\n"id":9,\n"method":"_x"}');

  expect(await client.inbox.response(9)).toEqual(failure(9, -32600));
  client.socket.close();
});

describe('a client that has lost its socket', () => {
  test('takes the place of the old socket', async () => {
    const client = await connect();
    await client.open();
    const again = await connect(idOf(client), 2);

    expect((await client.closed)[0]).toBe(4000);
    again.socket.close();
  });

  test('sends again what arrives late by the old socket, which is not taken', async () => {
    const client = await connect();
    await client.request(1, 'initialize', { protocolVersion: 1 });
    // It does not learn that another socket takes its place.
    client.socket.pause();
    const again = await connect(idOf(client), 1);
    expect(again.headers['cai-received']).toBe('1');

    const opens = { cwd: server.workspace('a'), mcpServers: [] };
    client.send({ id: 2, method: 'session/new', params: opens });
    client.socket.resume();
    expect((await client.closed)[0]).toBe(4000);
    expect(await again.request(2, 'session/new', opens)).toHaveProperty('result.sessionId');
    const third = await connect(idOf(client), 2);
    expect(third.headers['cai-received']).toBe('2');
    third.socket.close();
  });

  test('is answered 410 if what it has missed is no longer kept', async () => {
    const client = await connect(undefined, 0, 'flood');
    const sessionId = await client.open();
    await client.request(3, 'session/prompt', { sessionId, prompt: [{ type: 'text', text: '9 500' }] });
    const id = idOf(client);
    client.socket.terminate();

    expect(await refusal({ 'acp-connection-id': id, 'cai-received': '99' })).toBe(400);
    expect(await refusal({ 'acp-connection-id': id, 'cai-received': 'x' })).toBe(400);
    expect(await refusal({ 'acp-connection-id': id, 'cai-received': '2' })).toBe(410);
    (await connect(id, 12)).socket.close();
  });

  test('is answered 404 after it has ended the connection', async () => {
    const client = await connect();
    await client.open();
    client.socket.close(1000);
    await client.closed;

    expect(await refusal({ 'acp-connection-id': idOf(client), 'cai-received': '2' })).toBe(404);
  });
});

test('answers a message that is a little too long under its id, and ends with 1009 for one that is far longer', async () => {
  const client = await connect();
  await client.open();
  client.send({ id: 5, method: '_x', params: 'x'.repeat(1024 * 1024) });
  expect(await client.inbox.response(5)).toEqual(failure(5, -32600));

  client.send({ id: 6, method: '_x', params: 'x'.repeat(3 * 1024 * 1024) });
  const said = 'a message has more than the 2 MiB of 2 x acp.max_line_from_editor';
  expect((await client.closed).map(String)).toEqual(['1009', said]);
});

test('is ended with 4001 when the process has ended', async () => {
  const client = await connect();
  await client.open();
  const { pid } = server.process;
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  process.kill(Number(children.at(-1)), 'SIGKILL');

  expect((await client.closed)[0]).toBe(4001);
});

test('answers pings with what they say', async () => {
  const client = await connect();
  client.socket.ping('17');
  const [text] = (await once(client.socket, 'pong')) as [Buffer];

  expect(text.toString()).toBe('17');
  client.socket.close();
});

test('a web page, which can send no header, comes in by a protocol that holds its token, which is not sent back', async () => {
  const token = server.owner.authorization.replace('Bearer ', '');
  const url = `${server.url.replace('http', 'ws')}/acp`;
  const client = new Client(
    new WebSocket(url, [`bearer.${token}`, 'acp.v1'], { origin: 'https://ui.example' }),
  );
  await once(client.socket, 'open');

  expect(await client.request(1, 'initialize', { protocolVersion: 1 })).toHaveProperty('result');
  expect(client.headers['sec-websocket-protocol']).toBe('acp.v1');
  client.socket.close(1000);
  await client.closed;
});
