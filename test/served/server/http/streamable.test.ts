import { failure, success } from '../../../support/messages';
import { Served } from '../../../support/served';
import { StreamableClient } from '../../../support/streamable';

const prompt = { jsonrpc: '2.0', id: 9, method: 'session/prompt', params: { sessionId: 's', prompt: [] } };

let server: Served;
let client: StreamableClient;
beforeAll(async () => (server = await Served.start({ config: '[acp]\nmax_line_from_editor = "1MiB"' })));
afterAll(() => server.end());
beforeEach(() => void (client = new StreamableClient(server)));
afterEach(async () => {
  if (client.id !== undefined) await client.send('DELETE');
});

describe('initialize', () => {
  test('is answered at once, with the id of the connection', async () => {
    const response = await client.initialize();

    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(client.id).toMatch(/^[\da-f-]{36}$/);
    expect(await response.json()).toMatchObject({ id: 1, result: { protocolVersion: 1 } });
  });

  test('that comes again on the same connection goes to the process', async () => {
    await client.initialize();
    const connection = await client.events();
    const again = await client.post({ id: 2, method: 'initialize', params: { protocolVersion: 1 } });

    expect(again.status).toBe(202);
    expect((await connection.next())!.message).toMatchObject({ id: 2, result: { protocolVersion: 1 } });
    await connection.cancel();
  });
});

describe('a message', () => {
  test('without a connection is refused, and a request gets its answer', async () => {
    const response = await client.post({ id: 'a', method: 'session/new' });

    expect(response.status).toBe(400);
    expect(await response.json()).toEqual(failure('a', -32600));
    const notification = await client.post({ method: 'session/cancel', params: {} });
    expect(notification.status).toBe(400);
    expect(await notification.text()).toBe('Acp-Connection-Id is missing: only initialize goes without it\n');
  });

  test('of an unknown connection is answered 404', async () => {
    client.id = '7c1b4a52-1111-4111-8111-111111111111';

    expect((await client.post({ id: 1, method: 'session/new' })).status).toBe(404);
    expect((await client.send('GET', { accept: 'text/event-stream' })).status).toBe(404);
    expect((await client.send('DELETE')).status).toBe(404);
    client.id = undefined;
  });

  test('of another type is answered 415', async () => {
    expect((await client.send('POST', { 'content-type': 'text/plain' }, '{}')).status).toBe(415);
  });

  test.each([
    ['a batch', '[]', 501, -32600],
    ['no JSON', '{', 400, -32700],
    ['no message', '{"jsonrpc":"2.0"}', 400, -32600],
  ])('that is %s is refused, with the error of JSON-RPC', async (_, body, status, code) => {
    await client.initialize();
    const response = await client.post(body);

    expect(response.status).toBe(status);
    expect(await response.json()).toEqual(failure(null, code));
  });

  test('of a session says so in its header, too, and there says the same', async () => {
    await client.initialize();

    expect((await client.post(prompt, { 'acp-session-id': undefined })).status).toBe(400);
    expect((await client.post(prompt, { 'acp-session-id': 'other' })).status).toBe(400);
    expect((await client.post(prompt)).status).toBe(202);
  });

  test('may have line ends between its tokens', async () => {
    await client.initialize();
    const connection = await client.events();
    await client.post('{"jsonrpc":"2.0",\r\n"id":7,\n"method":"_none"}');

    expect((await connection.next())!.message).toMatchObject(failure(7, -32601));
    await connection.cancel();
  });
});

describe('the streams', () => {
  test('need Accept', async () => {
    await client.initialize();

    expect((await client.send('GET', { accept: 'application/json' })).status).toBe(406);
  });

  test('need a connection', async () => {
    expect((await client.send('GET', { accept: 'text/event-stream' })).status).toBe(400);
  });

  test('have a turn in that of its session, and nothing of it in that of the connection', async () => {
    const { sessionId, connection, session } = await client.open();
    const id = await client.prompt(sessionId, 'hello');

    expect((await session.next())!.message).toHaveProperty('params.update.content.text', 'echo: hello');
    expect((await session.next())!.message).toEqual(success(id, { stopReason: 'end_turn' }));
    await client.post({ id: 'last', method: '_none' });
    expect((await connection.next())!.message).toHaveProperty('id', 'last');
  });

  test('have the answer to session/load in that of the connection', async () => {
    await client.initialize();
    const connection = await client.events();
    const params = { sessionId: 'none', cwd: server.workspace('a'), mcpServers: [] };
    await client.post({ id: 'load', method: 'session/load', params });

    expect((await connection.next())!.message).toHaveProperty('id', 'load');
  });
});

describe('DELETE', () => {
  test('ends the connection and its streams', async () => {
    const { connection, session } = await client.open();

    expect((await client.send('DELETE')).status).toBe(202);
    expect([await connection.next(), await session.next()]).toEqual([undefined, undefined]);
    expect((await client.send('DELETE')).status).toBe(404);
    client.id = undefined;
  });

  test('needs a connection', async () => {
    expect((await client.send('DELETE')).status).toBe(400);
  });
});

test.each(['PUT', 'PATCH', 'HEAD'])('%s is answered 405', async (method) => {
  expect((await client.send(method)).status).toBe(405);
});
