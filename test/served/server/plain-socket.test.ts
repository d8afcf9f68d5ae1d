import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { failure } from '../../support/messages';
import { Inbox, type Json } from '../../support/inbox';
import { Served } from '../../support/served';

const listen = ['tcp://127.0.0.1:0', 'unix:HOME/run/s.sock', '127.0.0.1:0'];

let server: Served;
beforeAll(async () => {
  server = await Served.start({ listen, config: '[acp]\nmax_line_from_editor = "1MiB"' });
});
afterAll(() => server.end());

/** A client of plain lines. */
class Client {
  readonly inbox = new Inbox('client');

  constructor(readonly socket: Socket) {
    socket.on('data', (chunk: Buffer) => this.inbox.push(chunk)).on('error', () => undefined);
    socket.on('close', () => this.inbox.end('the socket is closed'));
  }

  send(message: Json): void {
    this.socket.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  /** All that comes until the server ends the socket. */
  async rest(): Promise<string> {
    await once(this.socket, 'close');
    return [...this.inbox.lines, this.inbox.rest].join('\n');
  }

  /** Opens a session and has a turn in it; resolves with the texts. */
  async turn(text: string): Promise<Json[]> {
    this.send({ id: 1, method: 'initialize', params: { protocolVersion: 1 } });
    await this.inbox.response(1);
    this.send({ id: 2, method: 'session/new', params: { cwd: server.workspace('a'), mcpServers: [] } });
    const { sessionId } = (await this.inbox.response(2)).result as Json;
    const prompt = [{ type: 'text', text }];
    this.send({ id: 3, method: 'session/prompt', params: { sessionId, prompt } });
    expect(await this.inbox.response(3)).toHaveProperty('result.stopReason', 'end_turn');
    return this.inbox.takeAll();
  }
}

function byTcp(): Client {
  const { port, hostname } = new URL(server.addresses[0]!.replace('tcp', 'http'));
  return new Client(connect(Number(port), hostname));
}

function byUnix(): Client {
  return new Client(connect(server.addresses[1]!.replace('unix:', '')));
}

/** How many connections the server has. */
async function count(): Promise<number> {
  const response = await fetch(`${server.addresses[2]}/metrics`, { headers: server.owner });
  return Number(/^cai_serve_connections (\d+)$/m.exec(await response.text())![1]);
}

/** Resolves when the server has none: their processes end their agents first. */
async function untilNone(): Promise<void> {
  while ((await count()) > 0);
}

test('has a turn over the user’s own socket, without a token', async () => {
  const client = byUnix();

  expect(await client.turn('hello')).toMatchObject([
    { params: { update: { content: { text: 'echo: hello' } } } },
  ]);
  client.socket.end();
  await client.rest();
});

test.each([
  ['a message', '{"jsonrpc":"2.0","id":1,"method":"initialize"}\n'],
  ['a request of HTTP', 'GET / HTTP/1.1\r\n\r\n'],
  ['too long', 'x'.repeat(5_000)],
])('is ended if the first line is %s', async (_, line) => {
  const client = byTcp();
  client.socket.write(line);

  expect(await client.rest()).toBe('401 the first line is "Authorization: Bearer TOKEN"\n');
});

test('gets an error for a line over the limit, under its id, and goes on', async () => {
  const client = byUnix();
  client.send({ id: 1, method: 'initialize', params: { protocolVersion: 1 } });
  await client.inbox.response(1);
  client.send({ id: 2, method: '_x', params: 'x'.repeat(1024 * 1024) });

  expect(await client.inbox.response(2)).toEqual(failure(2, -32600));
  client.socket.destroy();
});

test('is ended with an error for a line far over the limit', async () => {
  const client = byUnix();
  client.send({ id: 2, method: '_x', params: 'x'.repeat(3 * 1024 * 1024) });

  const refusal = await client.inbox.next(() => true);
  expect(refusal).toEqual(failure(null, -32600));
  expect(JSON.stringify(refusal)).toContain('more than the 2 MiB of 2 x acp.max_line_from_editor: raise it');
  await client.rest();
});

test.each(['end', 'destroy'] as const)('its %s is that of the connection', async (how) => {
  await untilNone();
  const client = byUnix();
  await client.turn('hello');
  expect(await count()).toBe(1);
  client.socket[how]();
  await untilNone();
});

test('has its answers, also if the client has ended its side behind its requests', async () => {
  const client = byUnix();
  client.send({ id: 1, method: 'initialize', params: { protocolVersion: 1 } });
  client.socket.end();

  expect(await client.inbox.response(1)).toHaveProperty('result.protocolVersion', 1);
  await client.rest();
});
