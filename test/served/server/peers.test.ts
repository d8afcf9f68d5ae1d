/** The clients of the official SDK with `bin/cai serve`, over WebSocket and Streamable HTTP. */
import { client, methods, PROTOCOL_VERSION, type Stream } from '@agentclientprotocol/sdk';
import { createHttpStream } from '@agentclientprotocol/sdk/experimental/http-client';
import { createWebSocketStream } from '@agentclientprotocol/sdk/experimental/ws-client';
import { WebSocket } from 'ws';
import { Served } from '../../support/served';

const mebibyte = 1024 * 1024;

let server: Served;
beforeAll(async () => (server = await Served.start()));
afterAll(() => server.end());

/** Both ways, by name. */
const ways: readonly [string, (agent: string) => Stream][] = [
  [
    'WebSocket',
    (agent) =>
      createWebSocketStream(`${server.url.replace('http', 'ws')}/acp?agent=${agent}`, {
        WebSocket,
        headers: server.owner,
      }),
  ],
  ['HTTP', (agent) => createHttpStream(`${server.url}/acp?agent=${agent}`, { headers: server.owner })],
];

/** What an editor has been told in one session, in order. */
type Told = Map<string, string[]>;

/** An editor that lets `onPermission` decide, and keeps the texts of each session. */
async function connect(stream: Stream, onPermission = (): Promise<string> => Promise.resolve('allow')) {
  const told: Told = new Map();
  const editor = client({ name: 'peer' })
    .onRequest(methods.client.session.requestPermission, async () => ({
      outcome: { outcome: 'selected' as const, optionId: await onPermission() },
    }))
    .onNotification(methods.client.session.update, ({ params: { sessionId, update } }) => {
      if (update.sessionUpdate !== 'agent_message_chunk' || update.content.type !== 'text') return;
      const texts = told.get(sessionId) ?? [];
      texts.push(update.content.text);
      told.set(sessionId, texts);
    });
  const connection = editor.connect(stream);
  const { agent } = connection;
  await agent.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION });
  return {
    connection,
    agent,
    textOf: (sessionId: string) => (told.get(sessionId) ?? []).join(''),
    textsOf: (sessionId: string) => told.get(sessionId) ?? [],
    open: async (name: string): Promise<string> => {
      const params = { cwd: server.workspace(name), mcpServers: [] };
      return (await agent.request<{ sessionId: string }>('session/new', params)).sessionId;
    },
    prompt: (sessionId: string, text: string) =>
      agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text }] }),
  };
}

describe.each(ways)('the SDK over %s', (_, streamTo) => {
  test('has a turn, with a permission', async () => {
    const editor = await connect(streamTo('mock'), () => Promise.resolve('reject'));
    const id = await editor.open('a');

    expect(await editor.prompt(id, 'say one two three four; permission Delete')).toEqual({
      stopReason: 'end_turn',
    });
    expect(editor.textOf(id)).toBe('one two three fourpermission: reject');
    editor.connection.close();
  });

  test('cancels a turn', async () => {
    const editor = await connect(streamTo('mock'));
    const id = await editor.open('a');
    const turn = editor.prompt(id, 'hello; wait');
    await editor.agent.notify(methods.agent.session.cancel, { sessionId: id });

    expect(await turn).toEqual({ stopReason: 'cancelled' });
    editor.connection.close();
  });

  test('has two sessions at once, and none waits for the other', async () => {
    let allow!: (option: string) => void;
    const decision = new Promise<string>((resolve) => (allow = resolve));
    const editor = await connect(streamTo('mock'), () => decision);
    const [a, b] = [await editor.open('a'), await editor.open('b')];
    const waiting = editor.prompt(a, 'permission');

    expect(await editor.prompt(b, 'hello')).toEqual({ stopReason: 'end_turn' });
    allow('allow');
    expect(await waiting).toEqual({ stopReason: 'end_turn' });
    expect([editor.textOf(a), editor.textOf(b)]).toEqual(['permission: allow', 'echo: hello']);
    editor.connection.close();
  });

  test('gets 300 updates in order, before the answer', async () => {
    const editor = await connect(streamTo('flood'));
    const id = await editor.open('a');
    await editor.prompt(id, '300 2000');

    const numbers = editor.textsOf(id).map((text) => parseInt(text));
    expect(numbers).toEqual(Array.from({ length: 300 }, (_, n) => n));
    editor.connection.close();
  });

  test('sends and gets a message of 8 MiB', async () => {
    const editor = await connect(streamTo('mock'));
    const id = await editor.open('a');
    const long = 'é'.repeat(4 * mebibyte);
    await editor.prompt(id, long);

    // No toBe: a difference of two such strings is nothing to read.
    expect(editor.textOf(id) === `echo: ${long}`).toBe(true);
    editor.connection.close();
  });
});
